/**
 * What an event does to a task, as a pure function of the task, the event and the time: the change of status, what happens to the hold,
 * and when to look next. A report that makes no sense changes nothing; one bad look never fails a task.
 */
import {
  CHECK_INTERVALS,
  CHECK_JITTER,
  canMove,
  isTerminal,
  MISSING,
  REVIEW,
  TASK_EXPIRY_SECONDS,
  type TaskStatus,
} from '../../rules/index.ts';
import type { ReportedTask } from '../upstream/client.ts';
import { type TaskError, taskError, taskErrorFrom } from '../upstream/errors.ts';

/** What is known of a task before the event. Times in milliseconds since 1970. */
export interface TaskFacts {
  readonly status: TaskStatus;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly missingReports: number;
  readonly missingSince: number | undefined;
  /** Set while a success waits for its usage. */
  readonly reviewUntil: number | undefined;
}

export type TaskEvent =
  | { readonly kind: 'reported'; readonly report: ReportedTask }
  /** The provider does not know the task. */
  | { readonly kind: 'missing' }
  /** The provider could not be asked, or its response was unreadable. */
  | { readonly kind: 'unreachable' };

/** What happens to the hold. `review`: it stays until the usage is known. */
export type HoldOutcome = 'keep' | 'settle' | 'review' | 'release';

export interface Transition {
  readonly to: TaskStatus | undefined;
  readonly error: TaskError | undefined;
  readonly hold: HoldOutcome;
  /** Trusted usage; only with `settle`. */
  readonly usageTokens: number | undefined;
  readonly missing: { readonly reports: number; readonly since: number | undefined };
  /** Milliseconds until the next look; undefined when none is needed. */
  readonly nextCheckMs: number | undefined;
}

/** `random` in [0, 1) spreads the next look. */
export function transition(task: TaskFacts, event: TaskEvent, now: number, random: number): Transition {
  if (task.reviewUntil !== undefined) return reviewed(task, event, now, random);
  if (isTerminal(task.status)) return unchanged(task, undefined);
  const ended = event.kind === 'reported' ? onReport(task, event.report) : undefined;
  if (ended) return { ...unchanged(task, isOver(ended) ? undefined : nextCheck(task, now, random)), ...ended };
  const missing = event.kind === 'missing' ? countMissing(task, now) : NOT_MISSING;
  if (missing.since !== undefined && missing.reports >= MISSING.reports && now - missing.since >= MISSING.overMs)
    return { ...unchanged(task, undefined), ...failed('upstream_error'), missing };
  // After the deadline the last look decides: no news means that the task expired.
  if (now >= task.expiresAt + TASK_EXPIRY_SECONDS.grace * 1_000)
    return { ...unchanged(task, undefined), to: 'expired', error: taskError('task_expired'), hold: 'release' };
  const kept = event.kind === 'unreachable' ? missingOf(task) : missing;
  return { ...unchanged(task, nextCheck(task, now, random)), missing: kept };
}

type Change = Pick<Transition, 'to' | 'error' | 'hold' | 'usageTokens'>;

const isOver = ({ to, hold }: Change): boolean => to !== undefined && isTerminal(to) && hold !== 'review';

const failed = (code: Parameters<typeof taskError>[0]): Change => ({
  to: 'failed',
  error: taskError(code),
  hold: 'release',
  usageTokens: undefined,
});

const REPORTED: Readonly<Record<string, TaskStatus>> = {
  queued: 'queued',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  expired: 'expired',
  cancelled: 'cancelled',
};

/** Undefined when the report brings no news: the same status, a step back, an unknown word, or a success without a video. */
function onReport(task: TaskFacts, report: ReportedTask): Change | undefined {
  const to = REPORTED[report.status];
  if (to === undefined || to === task.status || !canMove(task.status, to)) return undefined;
  if (to === 'succeeded') return report.videoUrl === undefined ? undefined : succeeded(report);
  if (to === 'failed')
    return {
      to,
      error: taskErrorFrom(report.error ?? { code: '', message: '' }),
      hold: 'release',
      usageTokens: undefined,
    };
  if (to === 'expired') return { to, error: taskError('task_expired'), hold: 'release', usageTokens: undefined };
  if (to === 'cancelled') return { to, error: taskError('task_cancelled'), hold: 'release', usageTokens: undefined };
  return { to, error: undefined, hold: 'keep', usageTokens: undefined };
}

/** Usage is never estimated (V 8): without it the hold waits. */
const succeeded = ({ usageTokens }: ReportedTask): Change => ({
  to: 'succeeded',
  error: undefined,
  hold: usageTokens === undefined ? 'review' : 'settle',
  usageTokens,
});

/** A success whose usage was not reported: asked again until it is, or until an operator has to decide. */
function reviewed(task: TaskFacts, event: TaskEvent, now: number, random: number): Transition {
  const usageTokens =
    event.kind === 'reported' && event.report.status === 'succeeded' ? event.report.usageTokens : undefined;
  if (usageTokens !== undefined) return { ...unchanged(task, undefined), hold: 'settle', usageTokens };
  return unchanged(task, now >= (task.reviewUntil ?? 0) ? undefined : jittered(REVIEW.everyMs, random));
}

const NOT_MISSING = { reports: 0, since: undefined } as const;
const missingOf = ({ missingReports, missingSince }: TaskFacts) => ({ reports: missingReports, since: missingSince });
const countMissing = ({ missingReports, missingSince }: TaskFacts, now: number) => ({
  reports: missingReports + 1,
  since: missingSince ?? now,
});

function nextCheck({ createdAt }: TaskFacts, now: number, random: number): number {
  const age = now - createdAt;
  const { everyMs } = CHECK_INTERVALS.find(({ belowAgeMs }) => age < belowAgeMs) ?? { everyMs: 60_000 };
  return jittered(everyMs, random);
}

const jittered = (ms: number, random: number): number =>
  Math.round(ms * (1 - CHECK_JITTER + 2 * CHECK_JITTER * random));

const unchanged = (task: TaskFacts, nextCheckMs: number | undefined): Transition => ({
  to: undefined,
  error: undefined,
  hold: 'keep',
  usageTokens: undefined,
  missing: missingOf(task),
  nextCheckMs,
});
