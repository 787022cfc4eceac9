/** The maximum cost of a task, held at creation (V 8): the largest picture, the longest video, at the price in force. */
import type { Nanos } from '../../core/index.ts';
import { type Rates, videoCostOf, videoRateOf } from '../../ledger/index.ts';
import { FRAMES_PER_SECOND, MAX_DURATION_S, maxArea, type VideoCapabilities } from '../../rules/index.ts';
import type { TaskRequest } from '../request/task-request.ts';

/** Seconds of input video that are assumed when a request has one; its length is not measured. */
const INPUT_VIDEO_S = 15;
const PIXELS_PER_TOKEN = 1_024;

export interface MaxCost {
  readonly nanos: Nanos;
  /** `pixels` times `frames`, divided by 1,024. */
  readonly tokens: number;
  readonly pixels: number;
  readonly frames: number;
  /** Per million tokens, of the dearest resolution that is possible. */
  readonly rate: Nanos;
}

/** The parameters that decide the cost. */
export type CostFacts = Pick<TaskRequest, 'duration' | 'frames' | 'resolution' | 'ratio' | 'hasVideoInput'>;

export function maxCostOfTask(
  request: CostFacts,
  capabilities: VideoCapabilities,
  rates: Rates,
  multipliersPpm: readonly bigint[],
): MaxCost {
  const largest = largestResult(request, capabilities);
  const { tokens } = largest;
  const resolutions = request.resolution === undefined ? capabilities.resolutions : [request.resolution];
  // Without a resolution the provider chooses, so the dearest one that the model offers is assumed.
  const rate = resolutions
    .map((resolution) => videoRateOf(rates, resolution, request.hasVideoInput) ?? 0n)
    .reduce((max, one) => (one > max ? one : max), 0n);
  return { nanos: videoCostOf(tokens, rate, multipliersPpm), ...largest, rate };
}

/** Tokens of the largest result: area times frames, one frame more than the seconds hold, as providers count. */
function largestResult(
  request: CostFacts,
  capabilities: VideoCapabilities,
): Pick<MaxCost, 'tokens' | 'pixels' | 'frames'> {
  const resolutions = request.resolution === undefined ? capabilities.resolutions : [request.resolution];
  const pixels = Math.max(...resolutions.map((resolution) => maxArea(resolution, request.ratio)));
  const seconds = outputSeconds(request, capabilities) + (request.hasVideoInput ? INPUT_VIDEO_S : 0);
  const frames = FRAMES_PER_SECOND * seconds + 1;
  return { tokens: Math.ceil((pixels * frames) / PIXELS_PER_TOKEN), pixels, frames };
}

/** `duration: -1` lets the model choose, up to the longest video (V 4.2 r2). */
function outputSeconds({ duration, frames }: CostFacts, { defaultDuration }: VideoCapabilities): number {
  if (frames !== undefined) return Math.ceil(frames / FRAMES_PER_SECOND);
  if (duration === -1) return MAX_DURATION_S;
  return duration ?? defaultDuration ?? MAX_DURATION_S;
}
