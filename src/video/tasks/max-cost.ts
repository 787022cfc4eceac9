/**
 * The maximum cost of a task, held at creation (V 8): the largest picture, the longest video, at the price in force. Options in the
 * prompt count beside the parameters, whichever is larger.
 */
import type { Nanos } from '../../core/index.ts';
import { type Rates, videoCostOf, videoRateOf } from '../../ledger/index.ts';
import * as rules from '../../rules/index.ts';
import type { TaskRequest } from '../request/task-request.ts';

/** Seconds of input video that are assumed when a request has one; its length is not measured. */
export const INPUT_VIDEO_S = 15;
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
export type CostFacts = Pick<
  TaskRequest,
  'duration' | 'frames' | 'resolution' | 'ratio' | 'hasVideoInput' | 'promptOptions'
>;

export function maxCostOfTask(
  request: CostFacts,
  capabilities: rules.VideoCapabilities,
  rates: Rates,
  multipliersPpm: readonly bigint[],
): MaxCost {
  const resolutions = possibleResolutions(request, capabilities);
  const ratios = possibleRatios(request);
  const pixels = Math.max(...resolutions.flatMap((one) => ratios.map((ratio) => rules.maxArea(one, ratio))));
  const seconds = outputSeconds(request, capabilities) + (request.hasVideoInput ? INPUT_VIDEO_S : 0);
  const { tokens, frames } = tokensOf(pixels, seconds);
  const rate = resolutions
    .map((resolution) => videoRateOf(rates, resolution, request.hasVideoInput) ?? 0n)
    .reduce((max, one) => (one > max ? one : max), 0n);
  return { nanos: videoCostOf(tokens, rate, multipliersPpm), tokens, pixels, frames, rate };
}

/** Area times frames, one frame more than the seconds hold, as providers count. */
export function tokensOf(pixels: number, seconds: number): Pick<MaxCost, 'tokens' | 'frames'> {
  const frames = rules.FRAMES_PER_SECOND * seconds + 1;
  return { tokens: Math.ceil((pixels * frames) / PIXELS_PER_TOKEN), frames };
}

/** Without a resolution the provider chooses, so every one that the model offers is possible. */
function possibleResolutions(
  { resolution, promptOptions }: CostFacts,
  model: rules.VideoCapabilities,
): rules.Resolution[] {
  const isOpen = resolution === undefined || promptOptions?.isUnclear === true;
  return [
    ...(isOpen ? model.resolutions : []),
    ...(resolution ? [resolution] : []),
    ...(promptOptions?.resolutions ?? []),
  ];
}

/** Undefined: any. */
const possibleRatios = ({ ratio, promptOptions }: CostFacts): (rules.Ratio | undefined)[] => [
  ratio,
  ...(promptOptions?.ratios ?? []),
  ...(promptOptions?.isUnclear ? [undefined] : []),
];

function outputSeconds({ promptOptions, ...request }: CostFacts, model: rules.VideoCapabilities): number {
  const { seconds = 0, isUnclear = false } = promptOptions ?? {};
  return Math.max(requestedSeconds(request, model), seconds, isUnclear ? rules.MAX_DURATION_S : 0);
}

/** `duration: -1` lets the model choose, up to the longest video (V 4.2 r2). */
function requestedSeconds(
  { duration, frames }: Pick<CostFacts, 'duration' | 'frames'>,
  { defaultDuration }: rules.VideoCapabilities,
): number {
  if (frames !== undefined) return Math.ceil(frames / rules.FRAMES_PER_SECOND);
  if (duration === -1) return rules.MAX_DURATION_S;
  return duration ?? defaultDuration ?? rules.MAX_DURATION_S;
}
