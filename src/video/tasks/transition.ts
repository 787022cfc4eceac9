/**
 * What an event does to a task, as a pure function of the task, the event and the time:
 * the change of status, what happens to the hold, and when to check next.
 * A report that makes no sense changes nothing; one bad check never fails a task.
 */
import * as rules from '../../rules/index.ts';
import type { QueryOutcome, ReportedTask } from '../upstream/client.ts';
import { type TaskError, taskError, taskErrorFrom } from '../upstream/errors.ts';

/** What is known of a task before the event. Times in milliseconds since 1970. */
export interface TaskFacts {
  readonly status: rules.TaskStatus;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly missingReports: number;
  readonly missingSince: number | undefined;
  /** Set while a success waits for its usage, or for a price. */
  readonly reviewUntil: number | undefined;
  /** Trusted usage that was reported before. */
  readonly usageTokens: number | undefined;
}

/** What came of the last question about it. */
export type TaskEvent = QueryOutcome<ReportedTask>;

/** What happens to the hold. `review`: it stays until the usage is known. */
export type HoldOutcome = 'keep' | 'settle' | 'review' | 'release';

export interface Transition {
  readonly to: rules.TaskStatus | undefined;
  readonly error: TaskError | undefined;
  readonly hold: HoldOutcome;
  /** Trusted usage; only with `settle`. */
  readonly usageTokens: number | undefined;
  readonly missing: { readonly reports: number; readonly since: number | undefined };
  /** Milliseconds until the next check; undefined when none is needed. */
  readonly nextCheckMs: number | undefined;
}

/** `random` in [0, 1) spreads the next check. */
export function transition(task: TaskFacts, event: TaskEvent, now: number, random: number): Transition {
  if (task.reviewUntil !== undefined) return reviewed(task, event, now, random);
  if (rules.isTerminal(task.status)) return unchanged(task, undefined);
  const missing = missingAfter(task, event, now);
  const change = changeBy(task, event, now, missing);
  const next = change && isOver(change) ? undefined : nextCheck(task, now, random);
  return { ...unchanged(task, next), ...change, missing };
}

/** Undefined when the task stays as it is. */
function changeBy(task: TaskFacts, event: TaskEvent, now: number, missing: MissingReports): Change | undefined {
  const reported = event.kind === 'found' ? onReport(task, event.value) : undefined;
  if (reported && rules.isTerminal(reported.to)) return reported;
  if (
    missing.since !== undefined &&
    missing.reports >= rules.MISSING.reports &&
    now - missing.since >= rules.MISSING.overMs
  )
    return ended('failed', taskError('upstream_error'));
  // After the deadline the last check decides: without an end in it the task has expired.
  if (now >= task.expiresAt + rules.TASK_EXPIRY_SECONDS.grace * 1_000)
    return ended('expired', taskError('task_expired'));
  return reported;
}

type Change = Pick<Transition, 'error' | 'hold' | 'usageTokens'> & { readonly to: rules.TaskStatus };

const isOver = ({ to, hold }: Change): boolean => rules.isTerminal(to) && hold !== 'review';

/** An end without success: costs nothing. */
const ended = (to: rules.TaskStatus, error: TaskError): Change => ({
  to,
  error,
  hold: 'release',
  usageTokens: undefined,
});

/** The provider uses our words. */
const isStatus = (word: string): word is rules.TaskStatus => rules.TASK_STATUSES.some((status) => status === word);

/**
 * Undefined when the report brings no news: the same status,
 * a step back, an unknown word, or a success without a video.
 */
function onReport(task: TaskFacts, report: ReportedTask): Change | undefined {
  const to = report.status;
  if (!isStatus(to) || !rules.canMove(task.status, to)) return undefined;
  if (to === 'succeeded') return report.videoUrl === undefined ? undefined : succeeded(report);
  if (to === 'failed') return ended(to, taskErrorFrom(report.error ?? { code: '', message: '' }));
  if (to === 'expired') return ended(to, taskError('task_expired'));
  if (to === 'cancelled') return ended(to, taskError('task_cancelled'));
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
  const report = event.kind === 'found' && event.value.status === 'succeeded' ? event.value : undefined;
  const usageTokens = task.usageTokens ?? report?.usageTokens;
  if (usageTokens !== undefined) return { ...unchanged(task, undefined), hold: 'settle', usageTokens };
  return unchanged(task, now >= (task.reviewUntil ?? 0) ? undefined : jittered(rules.REVIEW.everyMs, random));
}

type MissingReports = Transition['missing'];

/** Any report of the task ends a row of missing ones; a check without a response neither counts nor ends it. */
function missingAfter(task: TaskFacts, event: TaskEvent, now: number): MissingReports {
  if (event.kind === 'found') return { reports: 0, since: undefined };
  const { reports, since } = missingOf(task);
  return event.kind === 'missing' ? { reports: reports + 1, since: since ?? now } : { reports, since };
}

const missingOf = ({ missingReports, missingSince }: TaskFacts): MissingReports => ({
  reports: missingReports,
  since: missingSince,
});

function nextCheck({ createdAt }: TaskFacts, now: number, random: number): number {
  const age = now - createdAt;
  const { everyMs } = rules.CHECK_INTERVALS.find(({ belowAgeMs }) => age < belowAgeMs) ?? { everyMs: 60_000 };
  return jittered(everyMs, random);
}

const jittered = (ms: number, random: number): number =>
  Math.round(ms * (1 - rules.CHECK_JITTER + 2 * rules.CHECK_JITTER * random));

const unchanged = (task: TaskFacts, nextCheckMs: number | undefined): Transition => ({
  to: undefined,
  error: undefined,
  hold: 'keep',
  usageTokens: undefined,
  missing: missingOf(task),
  nextCheckMs,
});
