/**
 * Usage that size and length of a video cannot have. It is never charged silently: the task goes to review as if there were none, and
 * the operator decides with the provider's bill.
 */
import { FRAMES_PER_SECOND, maxArea, RESOLUTIONS, USAGE_DOUBT_FACTOR } from '../../rules/index.ts';
import type { QueryOutcome, ReportedTask } from '../upstream/client.ts';
import { INPUT_VIDEO_S, tokensOf } from './max-cost.ts';
import type { TaskRow } from './task.ts';

type Bounds = Pick<TaskRow, 'max_tokens' | 'has_video_input'>;

/** The outcome without usage that cannot be believed. */
export function withoutDoubtedUsage(task: Bounds, outcome: QueryOutcome<ReportedTask>): QueryOutcome<ReportedTask> {
  if (outcome.kind !== 'found' || outcome.value.usageTokens === undefined) return outcome;
  const { usage: _, usageTokens, ...report } = outcome.value;
  const most = Math.min(heldTokens(task), madeTokens(task, report));
  if (usageTokens <= USAGE_DOUBT_FACTOR * most) return outcome;
  const doubtedUsage = `${usageTokens} tokens, where size and length allow ${most}`;
  return { kind: 'found', value: { ...report, usageTokens: undefined, doubtedUsage } };
}

/** What the request allows. */
const heldTokens = ({ max_tokens }: Bounds): number =>
  max_tokens === null ? Number.POSITIVE_INFINITY : Number(max_tokens);

/** What the video allows that was made, where its size and length are reported; lengths are rounded down. */
function madeTokens(
  { has_video_input }: Bounds,
  { resolution, duration, frames }: Pick<ReportedTask, 'resolution' | 'duration' | 'frames'>,
): number {
  const size = RESOLUTIONS.find((one) => one === resolution);
  const seconds = frames === undefined ? duration && duration + 1 : Math.ceil(frames / FRAMES_PER_SECOND);
  if (size === undefined || !seconds) return Number.POSITIVE_INFINITY;
  return tokensOf(maxArea(size, undefined), seconds + (has_video_input ? INPUT_VIDEO_S : 0)).tokens;
}
