/**
 * The maximum cost of a task, held at creation (V 8): the largest picture, the longest video, at the price in force.
 * Options in the prompt count beside the parameters, whichever is larger.
 */
import type { Nanos } from '../../core/index.ts';
import { type Multipliers, type Rates, videoCost, videoRateOf } from '../../ledger/index.ts';
import * as rules from '../../rules/index.ts';
import type { GivenParameters, TaskRequest } from '../request/task-request.ts';

export interface MaxCost {
  readonly nanos: Nanos;
  readonly unit: rules.PriceUnit;
  /** Seconds or videos; of a model by tokens the same as `tokens`. */
  readonly count: number;
  /** `pixels` times `frames`, divided by the pixels of a token. 0 with another unit. */
  readonly tokens: number;
  readonly pixels: number;
  readonly frames: number;
  /** Per million tokens, per second or per video, of the dearest resolution that is possible. */
  readonly rate: Nanos;
}

export type CostFacts = Pick<TaskRequest, 'hasVideoInput' | 'promptOptions'> & {
  readonly [K in 'duration' | 'frames' | 'resolution' | 'ratio' | 'generate_audio']?: GivenParameters[K] | undefined;
};

export function maxCostOfTask(
  facts: CostFacts,
  sheet: rules.VideoSheet,
  rates: Rates,
  multipliersPpm: Multipliers,
): MaxCost {
  const { unit } = sheet;
  // Only providers that count tokens read options in a prompt.
  const request = unit === 'tokens' ? facts : { ...facts, promptOptions: undefined };
  const resolutions = possibleResolutions(request, sheet);
  const ratios = possibleRatios(request);
  const pixels = Math.max(
    ...resolutions.flatMap((one) => ratios.map((ratio) => rules.maxArea(one, ratio, sheet.sizes))),
  );
  const seconds = outputSeconds(request, sheet) + (request.hasVideoInput ? sheet.inputVideoSeconds : 0);
  const { tokens, frames } = tokensOf(pixels, seconds, sheet);
  const count = { tokens, seconds, videos: 1 }[unit];
  const measure = { unit, hasAudio: request.generate_audio !== false };
  const rate = resolutions
    .map((resolution) => videoRateOf(rates, resolution, request.hasVideoInput, measure) ?? 0n)
    .reduce((max, one) => (one > max ? one : max), 0n);
  const { nanos } = videoCost(count, rate, multipliersPpm, unit);
  return { nanos, unit, count, tokens: unit === 'tokens' ? tokens : 0, pixels, frames, rate };
}

/** Area times frames, one frame more than the seconds hold, as providers count. */
export function tokensOf(
  pixels: number,
  seconds: number,
  { framesPerSecond, pixelsPerToken }: Pick<rules.VideoSheet, 'framesPerSecond' | 'pixelsPerToken'>,
): Pick<MaxCost, 'tokens' | 'frames'> {
  const frames = framesPerSecond * seconds + 1;
  return { tokens: Math.ceil((pixels * frames) / pixelsPerToken), frames };
}

/** Without a resolution the provider chooses, so every one that the model offers is possible. */
function possibleResolutions({ resolution, promptOptions }: CostFacts, model: rules.VideoSheet): rules.Resolution[] {
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

function outputSeconds({ promptOptions, ...request }: CostFacts, model: rules.VideoSheet): number {
  const { seconds = 0, isUnclear = false } = promptOptions ?? {};
  return Math.max(requestedSeconds(request, model), seconds, isUnclear ? model.parameters.duration.max : 0);
}

/** `duration: -1` lets the model choose, up to the longest video (V 4.2 r2). */
function requestedSeconds(
  { duration, frames }: Pick<CostFacts, 'duration' | 'frames'>,
  { defaultDuration, framesPerSecond, parameters }: rules.VideoSheet,
): number {
  if (frames !== undefined) return Math.ceil(frames / framesPerSecond);
  if (duration === -1) return parameters.duration.max;
  return duration ?? defaultDuration ?? parameters.duration.max;
}
