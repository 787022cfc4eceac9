/**
 * Application of what a provider reported to a task, in one transaction on the locked row:
 * status, hold, usage, announcement. A report may be late or doubled:
 * it is compared with the task as it is now, so applying it again changes nothing.
 */
import { sql } from 'kysely';
import { crashPoint, review } from '../../ledger/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import { maxArea, RESOLUTIONS, REVIEW, USAGE_DOUBT_FACTOR, VIDEO_SHEETS } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { type ReportedTask, reportedMembers } from '../upstream/client.ts';
import type { DueTask } from './due.ts';
import { tokensOf } from './max-cost.ts';
import { settleTask } from './settle.ts';
import { changeStatus } from './status.ts';
import {
  holdReference,
  lockTask,
  RESULT_MEMBERS,
  type ReportedResult,
  reportedOf,
  type TaskName,
  type TaskRow,
  updateTask,
} from './task.ts';
import { type TaskEvent, type TaskFacts, type Transition, transition } from './transition.ts';

export type ApplyServices = Pick<VideoServices, 'db' | 'catalog' | 'clock' | 'log' | 'publicUrl'>;

/** True when the report changes the task or what is known of it. Without news nothing has to be written. */
export function isNews({ clock }: ApplyServices, task: DueTask, outcome: TaskEvent): boolean {
  const change = transition(factsOf(task), outcome, clock.now(), 0);
  return (
    change.to !== undefined ||
    change.hold !== 'keep' ||
    change.nextCheckMs === undefined ||
    change.missing.reports !== task.missing_reports ||
    progressIn(task, outcome) !== undefined
  );
}

/** Progress that the provider reports of a task that runs. It never goes back, and only an end makes it 100. */
function progressIn({ status, progress }: Pick<DueTask, 'status' | 'progress'>, outcome: TaskEvent) {
  const reported = outcome.kind === 'found' && outcome.value.status === 'running' ? outcome.value.progress : undefined;
  if (reported === undefined || (status !== 'queued' && status !== 'running')) return undefined;
  const shown = Math.min(Math.max(reported, 1), 99);
  return shown > progress ? shown : undefined;
}

/** Applies the outcome of a check to the task as it is now. Returns true when the status or the hold changed. */
export async function applyReport(services: ApplyServices, name: TaskName, reported: TaskEvent): Promise<boolean> {
  const hasChanged = await services.db.transaction().execute(async (tx) => {
    const task = await lockTask(tx, name);
    if (!task) return false;
    crashPoint('follow.locked');
    const outcome = withUsage(task, reported);
    const report = outcome.kind === 'found' ? outcome.value : undefined;
    const change = transition(factsOf(task), outcome, services.clock.now(), Math.random());
    await applyTransition(services, tx, task, { change, report });
    const progress = progressIn(task, outcome);
    // Not a change of status: it makes no version and no callback.
    if (progress !== undefined) await updateTask(tx, task).set({ progress, updated_at: sql<Date>`now()` }).execute();
    crashPoint('follow.applying');
    return change.to !== undefined || change.hold !== 'keep';
  });
  crashPoint('follow.applied');
  return hasChanged;
}

const factsOf = (task: DueTask): TaskFacts => ({
  status: task.status as TaskFacts['status'],
  createdAt: task.created_at.getTime(),
  expiresAt: task.expires_at.getTime(),
  missingReports: task.missing_reports,
  missingSince: task.missing_since?.getTime(),
  reviewUntil: task.review_until?.getTime(),
  usageTokens: task.usage_tokens === null ? undefined : Number(task.usage_tokens),
});

interface Applied {
  readonly change: Transition;
  readonly report: ReportedTask | undefined;
}

async function applyTransition(services: ApplyServices, tx: Tx, task: TaskRow, applied: Applied): Promise<void> {
  const { change, report } = applied;
  await saveReport(tx, task, applied);
  crashPoint('follow.saved');
  if (change.to) {
    const to = { to: change.to, ...(change.error && { error: change.error }) };
    if (!(await changeStatus(services, tx, task, to))) throw new Error(`task ${task.id} changed while it was locked`);
  }
  crashPoint('follow.moved');
  if (change.hold === 'settle') await settleOrReview(services, tx, task, applied);
  else if (change.hold === 'review') await beginReview(services, tx, task, report);
  crashPoint('follow.settled');
}

/** What the provider reported, and when to check next. Written before the move, whose announcement shows it. */
async function saveReport(tx: Tx, task: TaskRow, { change, report }: Applied): Promise<void> {
  const isSuccess = report !== undefined && change.to === 'succeeded';
  const usage = change.usageTokens === undefined ? undefined : report?.usage;
  await updateTask(tx, task)
    .set({
      missing_reports: change.missing.reports,
      missing_since: change.missing.since === undefined ? null : new Date(change.missing.since),
      next_check_at:
        change.nextCheckMs === undefined ? null : sql<Date>`now() + ${change.nextCheckMs} * interval '1 millisecond'`,
      ...((isSuccess || usage) && {
        reported: JSON.stringify({ ...(isSuccess ? resultOf(report) : reportedOf(task)), ...(usage && { usage }) }),
      }),
      ...(isSuccess && {
        result_url: report.videoUrl ?? null,
        last_frame_url: report.lastFrameUrl ?? null,
        result_reported_at: sql<Date>`now()`,
      }),
      ...(change.usageTokens !== undefined && { usage_tokens: BigInt(change.usageTokens) }),
    })
    .execute();
}

const resultOf = (report: ReportedTask): ReportedResult => ({
  ...reportedMembers(report, RESULT_MEMBERS),
  ...(report.lastFrameUrl !== undefined && { last_frame: true }),
  ...(report.doubtedUsage !== undefined && { doubted_usage: report.doubtedUsage }),
});

/** Without a price the known usage waits: the task is settled by a later check, once its model has a price. */
async function settleOrReview(services: ApplyServices, tx: Tx, task: TaskRow, { change, report }: Applied) {
  const reported = report && change.to === 'succeeded' ? resultOf(report) : reportedOf(task);
  if (await settleTask(services, tx, task, { tokens: change.usageTokens ?? 0, reported })) await endReview(tx, task);
  else await beginReview(services, tx, task, report);
}

/** Keeps the hold, and sets or keeps the end of the review. */
async function beginReview({ log }: ApplyServices, tx: Tx, task: TaskRow, report: ReportedTask | undefined) {
  await review(tx, holdReference(task.id));
  await updateTask(tx, task)
    .set({
      review_until: sql<Date>`coalesce(review_until, now() + ${REVIEW.forMs} * interval '1 millisecond')`,
      next_check_at: sql<Date>`now() + ${REVIEW.everyMs} * interval '1 millisecond'`,
    })
    .execute();
  if (task.review_until !== null || report?.usageTokens !== undefined) return;
  const usage = report?.doubtedUsage;
  log.warn('task.usage_missing', { task: task.id, reported: usage === undefined ? 'none' : 'invalid', usage });
}

/** Ends the review of a task whose hold was resolved. Usage may have appeared, so the task counts as updated. */
export async function endReview(tx: Tx, { user_id, id, review_until }: TaskRow): Promise<void> {
  if (review_until === null) return;
  await updateTask(tx, { user_id, id })
    .set({ review_until: null, next_check_at: null, updated_at: sql<Date>`now()` })
    .execute();
}

const EXPIRY_BATCH = 100;

/** Ends tasks whose account is gone or cannot be asked; no check would end them. Returns how many. */
export async function expireTasks(services: ApplyServices): Promise<number> {
  const { rows } = await sql<Pick<TaskRow, 'user_id' | 'id'>>`
    select user_id, id from video_tasks
    where finished_at is null and expires_at < now() - interval '1 hour' order by expires_at
    limit ${EXPIRY_BATCH}`.execute(services.db);
  let expired = 0;
  for (const task of rows) if (await applyReport(services, task, { kind: 'failed', status: undefined })) expired += 1;
  return expired;
}

/**
 * The sheet of the task may have changed since; providers count frames and tokens alike,
 * and inputs differ by less than the doubt.
 */
const SHEET = VIDEO_SHEETS.A;
const INPUT_VIDEO_S = Math.max(...Object.values(VIDEO_SHEETS).map(({ inputVideoSeconds }) => inputVideoSeconds));

type Bounds = Pick<TaskRow, 'max_tokens' | 'has_video_input' | 'unit'>;

/**
 * The outcome with the usage in the unit of the task, if size and length of the video can have it. Other usage is never
 * charged silently: the task goes to review as if there were none, and the operator decides with the provider's bill.
 */
function withUsage(task: Bounds, outcome: TaskEvent): TaskEvent {
  if (outcome.kind !== 'found') return outcome;
  const { usage, ...report } = outcome.value;
  const usageTokens = task.unit === 'tokens' ? report.usageTokens : madeUnits(task, report);
  if (usageTokens === undefined) return outcome;
  const most = task.unit === 'tokens' ? Math.min(heldTokens(task), madeTokens(task, report)) : heldTokens(task);
  if (usageTokens <= USAGE_DOUBT_FACTOR * most)
    return { kind: 'found', value: { ...report, ...(usage && { usage }), usageTokens } };
  const doubtedUsage = `${usageTokens} ${task.unit}, where size and length allow ${most}`;
  return { kind: 'found', value: { ...report, usageTokens: undefined, doubtedUsage } };
}

/**
 * A task makes one video. Its length is that of the report,
 * or the one that was asked for: a provider that reports none makes exactly that.
 */
function madeUnits({ unit, max_tokens }: Bounds, { status, duration }: ReportedTask): number | undefined {
  if (status !== 'succeeded') return undefined;
  return unit === 'videos' ? 1 : (duration ?? Number(max_tokens));
}

/** What the request allows, in the unit of the task. */
const heldTokens = ({ max_tokens }: Bounds): number =>
  max_tokens === null ? Number.POSITIVE_INFINITY : Number(max_tokens);

/** What the video allows that was made, where its size and length are reported; lengths are rounded down. */
function madeTokens({ has_video_input }: Bounds, { resolution, duration, frames }: ReportedTask): number {
  const size = RESOLUTIONS.find((one) => one === resolution);
  const seconds = frames === undefined ? duration && duration + 1 : Math.ceil(frames / SHEET.framesPerSecond);
  if (size === undefined || !seconds) return Number.POSITIVE_INFINITY;
  return tokensOf(maxArea(size, undefined), seconds + (has_video_input ? INPUT_VIDEO_S : 0), SHEET).tokens;
}
