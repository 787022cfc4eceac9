/**
 * Reconciliation of tasks whose submission is unknown (V 4.2 r3): the provider's report on our secret path, or its task list, shows
 * whether it has the task. A task that is not found within a day failed; its hold is released. Nothing is ever sent again.
 */
import { sql } from 'kysely';
import type { Account } from '../../catalog/index.ts';
import { SUBMISSION_TIMEOUT_SECONDS } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import type { ReportedTask } from '../upstream/client.ts';
import { taskError } from '../upstream/errors.ts';
import { changeStatus } from './status.ts';
import { hashCallbackToken, type TaskRow } from './task.ts';

/** Seconds until the next look, by the number of looks so far; then hourly. */
const SCHEDULE_S = [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600] as const;
/** Tasks looked at per run. The provider allows one list request per second and account. */
const BATCH = 20;
/** How far the provider's clock may differ from ours. */
const CLOCK_SKEW_S = 120;
/** The longest time between our commit and the provider's creation of the task. */
const SUBMISSION_WINDOW_S = 300;

type ReconcileServices = Pick<VideoServices, 'db' | 'catalog' | 'provider' | 'log' | 'publicUrl'>;

/** Looks for unknown tasks that are due. Returns how many it looked at. */
export async function reconcileSubmissions(services: ReconcileServices): Promise<number> {
  const due = await takeDue(services);
  const byAccount = Map.groupBy(due, ({ account_id, upstream_model }) => `${account_id}\n${upstream_model}`);
  for (const tasks of byAccount.values()) await reconcileGroup(services, tasks);
  return due.length;
}

/** Takes tasks by moving their next check, so that no other worker looks at the same time. */
async function takeDue({ db }: ReconcileServices): Promise<readonly TaskRow[]> {
  const delays = sql.raw(`(array[${SCHEDULE_S.join(',')}])`);
  const { rows } = await sql<TaskRow>`
    update video_tasks t set check_attempts = t.check_attempts + 1,
      next_check_at = now() + ${delays}[least(t.check_attempts + 1, ${SCHEDULE_S.length})] * interval '1 second'
    from (select user_id, id from video_tasks
          where next_check_at <= now() and submission = 'unknown' and finished_at is null
          order by next_check_at limit ${BATCH} for update skip locked) due
    where t.user_id = due.user_id and t.id = due.id returning t.*`.execute(db);
  return rows;
}

async function reconcileGroup(services: ReconcileServices, tasks: readonly TaskRow[]): Promise<void> {
  const [first] = tasks;
  const account = first && accountOf(services, first);
  const listed = account && (await services.provider.list(account, upstreamModelOf(account, first)));
  for (const task of tasks) {
    const match = listed?.kind === 'found' ? await onlyMatch(services, task, listed.value) : undefined;
    if (match) await bindTask(services, task, match.id);
    else await failIfOverdue(services, task);
  }
}

const accountOf = ({ catalog }: ReconcileServices, { group_id, account_id }: TaskRow): Account | undefined =>
  catalog()
    .accounts(group_id)
    .find(({ id }) => id === account_id);

const upstreamModelOf = (account: Account, { upstream_model }: TaskRow): string =>
  account.models.get(upstream_model) ?? upstream_model;

/** The provider's task, when exactly one unbound task of the provider and one unknown task of ours fit together. */
async function onlyMatch(
  { db, log }: ReconcileServices,
  task: TaskRow,
  reported: readonly ReportedTask[],
): Promise<ReportedTask | undefined> {
  const created = task.created_at.getTime() / 1_000;
  const candidates = reported.filter(
    ({ createdAt, safetyIdentifier }) =>
      createdAt !== undefined &&
      createdAt >= created - CLOCK_SKEW_S &&
      createdAt <= created + SUBMISSION_WINDOW_S + CLOCK_SKEW_S &&
      (safetyIdentifier === undefined || safetyIdentifier === task.safety_identifier),
  );
  if (candidates.length === 0) return undefined;
  const { rows: bound } = await sql<{ upstream_id: string }>`
    select upstream_id from video_tasks
    where account_id = ${task.account_id} and upstream_id = any(${candidates.map(({ id }) => id)})`.execute(db);
  const unbound = candidates.filter(({ id }) => !bound.some(({ upstream_id }) => upstream_id === id));
  const { rows: rivals } = await sql<{ id: string }>`
    select id from video_tasks
    where submission in ('unknown', 'sending') and finished_at is null and account_id = ${task.account_id}
      and upstream_model = ${task.upstream_model} and safety_identifier = ${task.safety_identifier}
      and abs(extract(epoch from created_at - ${task.created_at}::timestamptz)) <= ${SUBMISSION_WINDOW_S + CLOCK_SKEW_S}`.execute(
    db,
  );
  if (unbound.length === 1 && rivals.length === 1) return unbound[0];
  if (unbound.length > 0)
    log.warn('task.reconciliation_ambiguous', { task: task.id, candidates: unbound.length, tasks: rivals.length });
  return undefined;
}

/** Confirms an unknown task. False when it was confirmed or ended meanwhile. */
async function bindTask(
  { db, log }: Pick<VideoServices, 'db' | 'log'>,
  task: TaskRow,
  upstreamId: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('video_tasks')
    .set({ submission: 'confirmed', upstream_id: upstreamId, next_check_at: sql<Date>`now()`, check_attempts: 0 })
    .where('user_id', '=', task.user_id)
    .where('id', '=', task.id)
    .where('submission', 'in', ['unknown', 'sending'])
    .where('finished_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) log.info('task.reconciled', { task: task.id });
  return numUpdatedRows > 0n;
}

async function failIfOverdue(services: ReconcileServices, task: TaskRow): Promise<void> {
  const { db, log } = services;
  const failed = await db.transaction().execute(async (tx) => {
    const { rows } = await sql<TaskRow>`
      select * from video_tasks
      where user_id = ${task.user_id} and id = ${task.id} and submission = 'unknown' and finished_at is null
        and created_at < now() - ${SUBMISSION_TIMEOUT_SECONDS} * interval '1 second'
      for update`.execute(tx);
    const [overdue] = rows;
    return overdue && changeStatus(services, tx, overdue, { to: 'failed', error: taskError('submission_failed') });
  });
  if (failed) log.error('task.submission_failed', { task: task.id, account: task.account_id });
}

/**
 * The provider reported a task on its secret path. The report itself is only a hint: the id in it is checked with the provider before
 * it is trusted. False when no task has this path.
 */
export async function onProviderReport(services: ReconcileServices, token: string, report: unknown): Promise<boolean> {
  const task = await services.db
    .selectFrom('video_tasks')
    .selectAll()
    .where('callback_token_hash', '=', hashCallbackToken(token))
    .where('finished_at', 'is', null)
    .executeTakeFirst();
  if (!task) return false;
  const reportedId = (report as { id?: unknown } | null)?.id;
  if (task.submission === 'confirmed' || typeof reportedId !== 'string') {
    await checkSoon(services, task);
    return true;
  }
  const account = accountOf(services, task);
  const found = account && (await services.provider.get(account, reportedId));
  if (found?.kind === 'found' && isOurs(task, found.value)) await bindTask(services, task, found.value.id);
  return true;
}

const isOurs = (task: TaskRow, { safetyIdentifier }: ReportedTask): boolean =>
  safetyIdentifier === undefined || safetyIdentifier === task.safety_identifier;

/** A confirmed task has news: the worker looks at it next. */
const checkSoon = ({ db }: ReconcileServices, { user_id, id }: TaskRow) =>
  db
    .updateTable('video_tasks')
    .set({ next_check_at: sql<Date>`now()` })
    .where('user_id', '=', user_id)
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .execute();
