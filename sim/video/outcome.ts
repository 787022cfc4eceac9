/** What a task produces: size, length, seed and usage. All of it is decided when the task is created. */
import type { Chance } from '../chance.ts';
import { familyOf, RATIOS, type Ratio, type Resolution, SIZES } from './families.ts';
import { FRAMES_PER_SECOND } from './h264.ts';
import type { TaskRequest } from './parameters.ts';
import type { TaskPlan, UsageMode } from './triggers.ts';

export interface Outcome {
  resolution: Resolution;
  ratio: Ratio;
  width: number;
  height: number;
  /** Whole seconds, rounded down. */
  duration: number;
  /** Frames of the file. */
  frames: number;
  seed: number;
  tokens: number;
  searches: number;
  /** Place of the colour bars in the first frame. */
  shift: number;
}

/** Tasks with video input are billed as if that input had at least this many seconds. */
const MIN_INPUT_S = 4;

export function decideOutcome(
  request: TaskRequest,
  plan: TaskPlan,
  chance: Chance,
  { id, inputVideoSeconds }: { id: string; inputVideoSeconds: number },
): Outcome {
  const resolution = plan.resolution ?? request.resolution;
  const adaptive = RATIOS[chance.number(`${id}.ratio`, RATIOS.length)] ?? '16:9';
  const ratio = plan.ratio ?? (request.ratio === 'adaptive' ? adaptive : request.ratio);
  const [width, height] = SIZES[resolution][ratio];
  const { min, max } = familyOf(request.family).duration;
  const automatic = min + chance.number(`${id}.duration`, max - min + 1);
  const seconds = plan.duration ?? (request.duration === -1 ? automatic : request.duration);
  const frames = request.frames ?? seconds * FRAMES_PER_SECOND;
  const videos = request.media.filter(({ type }) => type === 'video').length;
  const input = videos === 0 ? 0 : Math.max(plan.inputSeconds ?? videos * inputVideoSeconds, MIN_INPUT_S);
  // The provider bills one frame more than 24 per second; an explicit number of frames is exact.
  const billed = (request.frames ?? frames + 1) + input * FRAMES_PER_SECOND;
  return {
    resolution,
    ratio,
    width,
    height,
    duration: Math.floor(frames / FRAMES_PER_SECOND),
    frames,
    seed: request.seed === undefined || request.seed === -1 ? chance.number(`${id}.seed`, 2 ** 31) : request.seed,
    tokens: Math.floor((width * height * billed) / 1024),
    searches: request.searches ? 1 : 0,
    shift: chance.number(`${id}.shift`, 8),
  };
}

/** Undefined: the response has no `usage`. */
export function usageOf({ tokens, searches }: Outcome, mode: UsageMode | undefined): object | undefined {
  if (mode === 'missing') return undefined;
  const completion = { negative: -tokens, zero: 0, huge: 1e300, text: String(tokens), fraction: tokens + 0.5 };
  const value = mode === undefined || mode === 'unequal' ? tokens : completion[mode];
  return {
    completion_tokens: value,
    total_tokens: mode === 'unequal' ? tokens + 1 : value,
    ...(searches > 0 && { tool_usage: { web_search: searches } }),
  };
}
