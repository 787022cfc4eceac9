/**
 * Following of confirmed tasks at their provider. A look takes the task by moving its next check, asks the provider, and applies the
 * outcome in one transaction: status, hold, usage, announcement. Workers of all replicas share the work.
 */
import { sql } from 'kysely';
import type { Account } from '../../catalog/index.ts';
import { errorFields } from '../../core/index.ts';
import { crashPoint, review } from '../../ledger/index.ts';
import { ACCOUNT_RATES, REVIEW } from '../../rules/index.ts';
import type { Tx, VideoServices } from '../services.ts';
import type { QueryOutcome, ReportedTask } from '../upstream/client.ts';
import { AccountRates } from '../upstream/rates.ts';
import { cancelUpstream } from './delete.ts';
import { settleTask } from './settle.ts';
import { changeStatus } from './status.ts';
import { holdReference, lockTask, type ReportedResult, reportedOf, statusOf, type TaskRow } from './task.ts';
import { type TaskEvent, type TaskFacts, type Transition, transition } from './transition.ts';

/** Time in which no other worker takes the task. Longer than the timeouts of one look. */
const LOOK_MS = 45_000;

type FollowServices = Pick<VideoServices, 'db' | 'catalog' | 'provider' | 'clock' | 'log' | 'publicUrl'>;

export class Follower {
  readonly #services: FollowServices;
  readonly #rates: AccountRates;
  readonly #running = new Set<Promise<void>>();
  readonly #busy = new Map<string, number>();

  constructor(services: FollowServices) {
    this.#services = services;
    this.#rates = new AccountRates(services.clock);
  }

  /** Starts a look at every task that is due, within the limits of its account. Returns how many it started. */
  async run(): Promise<number> {
    const accounts = this.#freeAccounts();
    if (accounts.length === 0) return 0;
    const tasks = await this.#takeDue(accounts);
    for (const task of tasks) {
      const account = accounts.find(({ account: { id } }) => id === task.account_id)?.account;
      if (account) this.#start(account, task);
    }
    return tasks.length;
  }

  /** Waits for the looks that are running. */
  async stop(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Accounts that may be asked now, and how often. */
  #freeAccounts(): { readonly account: Account; readonly slots: number }[] {
    const { catalog } = this.#services;
    const groups = catalog()
      .groups()
      .filter(({ style }) => style === 'video');
    return groups
      .flatMap(({ id }) => catalog().accounts(id))
      .map((account) => ({
        account,
        slots: Math.min(
          ACCOUNT_RATES.concurrentGets - (this.#busy.get(account.id) ?? 0),
          this.#rates.available(account.id),
        ),
      }))
      .filter(({ slots }) => slots > 0);
  }

  async #takeDue(accounts: readonly { readonly account: Account; readonly slots: number }[]): Promise<TaskRow[]> {
    const ids = accounts.map(({ account }) => account.id);
    const slots = accounts.map((entry) => entry.slots);
    const { rows } = await sql<TaskRow>`
      update video_tasks t set next_check_at = now() + ${LOOK_MS} * interval '1 millisecond', check_attempts = t.check_attempts + 1
      from unnest(${ids}::text[], ${slots}::int[]) wanted (account_id, slots)
      cross join lateral (
        select d.user_id, d.id from video_tasks d
        where d.account_id = wanted.account_id and d.submission = 'confirmed' and d.next_check_at <= now()
        order by d.next_check_at limit wanted.slots for update skip locked) due
      where t.user_id = due.user_id and t.id = due.id
      returning t.*`.execute(this.#services.db);
    return rows;
  }

  #start(account: Account, task: TaskRow): void {
    this.#busy.set(account.id, (this.#busy.get(account.id) ?? 0) + 1);
    this.#rates.take(account.id);
    const look = this.#look(account, task)
      .catch((error: unknown) => {
        // The task is looked at again when the time of this look is over.
        this.#services.log.error('task.follow_failed', { task: task.id, ...errorFields(error) });
      })
      .finally(() => {
        this.#running.delete(look);
        const busy = (this.#busy.get(account.id) ?? 1) - 1;
        if (busy === 0) this.#busy.delete(account.id);
        else this.#busy.set(account.id, busy);
      });
    this.#running.add(look);
  }

  async #look(account: Account, task: TaskRow): Promise<void> {
    if (task.cancel_requested_at !== null && task.status === 'queued') {
      // Rejected: the task runs already, and the look below finds out.
      await cancelUpstream(this.#services, task).catch(() => {});
    }
    const outcome = await this.#services.provider.get(account, task.upstream_id ?? '');
    crashPoint('follow.asked');
    if (outcome.kind === 'failed' && outcome.status === 429) this.#rates.pause(account.id);
    await applyReport(this.#services, task, outcome);
  }
}

/** Applies what the provider said, to the task as it is now. */
export async function applyReport(
  services: FollowServices,
  { user_id, id }: Pick<TaskRow, 'user_id' | 'id'>,
  outcome: QueryOutcome<ReportedTask>,
): Promise<void> {
  await services.db.transaction().execute(async (tx) => {
    const task = await lockTask(tx, { user_id, id });
    if (!task) return;
    const report = outcome.kind === 'found' ? outcome.value : undefined;
    const change = transition(factsOf(task), eventOf(outcome), services.clock.now(), Math.random());
    await applyTransition(services, tx, task, { change, report });
    crashPoint('follow.applying');
  });
  crashPoint('follow.applied');
}

const eventOf = (outcome: QueryOutcome<ReportedTask>): TaskEvent => {
  if (outcome.kind === 'found') return { kind: 'reported', report: outcome.value };
  return { kind: outcome.kind === 'missing' ? 'missing' : 'unreachable' };
};

export const factsOf = (task: TaskRow): TaskFacts => ({
  status: statusOf(task),
  createdAt: task.created_at.getTime(),
  expiresAt: task.expires_at.getTime(),
  missingReports: task.missing_reports,
  missingSince: task.missing_since?.getTime(),
  reviewUntil: task.review_until?.getTime(),
});

async function applyTransition(
  services: FollowServices,
  tx: Tx,
  task: TaskRow,
  { change, report }: { readonly change: Transition; readonly report: ReportedTask | undefined },
): Promise<void> {
  const reported = report && change.to === 'succeeded' ? resultOf(report) : reportedOf(task);
  await saveReport(tx, task, change, report);
  const moved = change.to
    ? await changeStatus(services, tx, task, { to: change.to, ...(change.error && { error: change.error }) })
    : task;
  if (!moved) return;
  crashPoint('follow.moved');
  const isSettled =
    change.hold === 'settle' && (await settleTask(services, tx, task, { tokens: change.usageTokens ?? 0, reported }));
  if (isSettled) await endReview(tx, task);
  else if (change.hold === 'review' || change.hold === 'settle') await beginReview(services, tx, task);
  crashPoint('follow.settled');
}

/** What the provider reported, and when to look next. Written before the move, which shows it in its announcement. */
async function saveReport(tx: Tx, task: TaskRow, change: Transition, report: ReportedTask | undefined): Promise<void> {
  const isSuccess = report?.status === 'succeeded' && report.videoUrl !== undefined;
  await tx
    .updateTable('video_tasks')
    .set({
      missing_reports: change.missing.reports,
      missing_since: change.missing.since === undefined ? null : new Date(change.missing.since),
      next_check_at:
        change.nextCheckMs === undefined ? null : sql<Date>`now() + ${change.nextCheckMs} * interval '1 millisecond'`,
      ...(isSuccess && {
        reported: JSON.stringify(resultOf(report)),
        result_url: report.videoUrl ?? null,
        last_frame_url: report.lastFrameUrl ?? null,
        result_reported_at: sql<Date>`now()`,
      }),
      ...(change.usageTokens !== undefined && { usage_tokens: BigInt(change.usageTokens) }),
    })
    .where('user_id', '=', task.user_id)
    .where('id', '=', task.id)
    .execute();
}

const resultOf = (report: ReportedTask): ReportedResult => ({
  ...(report.duration !== undefined && { duration: report.duration }),
  ...(report.resolution !== undefined && { resolution: report.resolution }),
  ...(report.ratio !== undefined && { ratio: report.ratio }),
  ...(report.seed !== undefined && { seed: report.seed }),
  ...(report.framesPerSecond !== undefined && { framespersecond: report.framesPerSecond }),
  ...(report.lastFrameUrl !== undefined && { last_frame: true }),
});

async function beginReview({ log }: FollowServices, tx: Tx, task: TaskRow): Promise<void> {
  if (task.review_until !== null) return;
  await review(tx, holdReference(task.id));
  await tx
    .updateTable('video_tasks')
    .set({
      review_until: sql<Date>`now() + ${REVIEW.forMs} * interval '1 millisecond'`,
      next_check_at: sql<Date>`now() + ${REVIEW.everyMs} * interval '1 millisecond'`,
    })
    .where('user_id', '=', task.user_id)
    .where('id', '=', task.id)
    .execute();
  log.warn('task.usage_missing', { task: task.id });
}

async function endReview(tx: Tx, task: TaskRow): Promise<void> {
  if (task.review_until === null) return;
  await tx
    .updateTable('video_tasks')
    .set({ review_until: null, updated_at: sql<Date>`now()` })
    .where('user_id', '=', task.user_id)
    .where('id', '=', task.id)
    .execute();
}

/** Tasks expired per run of the job. */
const EXPIRY_BATCH = 100;

/** Ends tasks whose account is gone or cannot be asked: nobody else would. Returns how many. */
export async function expireTasks(services: FollowServices): Promise<number> {
  const { rows } = await sql<TaskRow>`
    select * from video_tasks
    where finished_at is null and expires_at < now() - interval '1 hour' order by expires_at limit ${EXPIRY_BATCH}`.execute(
    services.db,
  );
  for (const task of rows) await applyReport(services, task, { kind: 'failed', status: undefined });
  return rows.length;
}
