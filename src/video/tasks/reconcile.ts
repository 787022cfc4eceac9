/**
 * Reconciliation of tasks whose submission is unknown (V 4.2 r3): the provider's report on our secret path, or its task list, shows
 * whether it has the task. A task that is not found within a day failed; its hold is released. Nothing is ever sent again.
 */
import { sql } from 'kysely';
import type { Account, Catalog } from '../../catalog/index.ts';
import { fail } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { SUBMISSION_TIMEOUT_SECONDS } from '../../rules/index.ts';
import { finishRecordOf } from '../idempotency/records.ts';
import type { VideoServices } from '../services.ts';
import { reportedIdIn, traitsOf } from '../upstream/adapters.ts';
import type { ReportedTask } from '../upstream/client.ts';
import { taskError } from '../upstream/errors.ts';
import { changeStatus } from './status.ts';
import { hashCallbackToken, type TaskRow } from './task.ts';

/** Seconds until the next check, by the number of checks so far; then hourly. */
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

/** Takes tasks by moving their next check, so that no other worker checks at the same time. The last check is when the time is over. */
async function takeDue({ db }: ReconcileServices): Promise<readonly TaskRow[]> {
  const delays = sql.raw(`(array[${SCHEDULE_S.join(',')}])`);
  const { rows } = await sql<TaskRow>`
    update video_tasks t set check_attempts = t.check_attempts + 1,
      next_check_at = least(
        now() + ${delays}[least(t.check_attempts + 1, ${SCHEDULE_S.length})] * interval '1 second',
        greatest(t.created_at + ${SUBMISSION_TIMEOUT_SECONDS} * interval '1 second', now() + ${SCHEDULE_S[0]} * interval '1 second'))
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
    const match =
      account && listed?.kind === 'found'
        ? await onlyMatch(services, { task, account, reported: listed.value })
        : undefined;
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

interface Search {
  readonly task: TaskRow;
  readonly account: Account;
  /** The tasks that the provider listed. */
  readonly reported: readonly ReportedTask[];
}

/** The provider's task, when exactly one unbound task of the provider and one unknown task of ours fit together. */
async function onlyMatch(services: ReconcileServices, search: Search): Promise<ReportedTask | undefined> {
  const { task, account, reported } = search;
  // A task without the identifier could be another user's. Where the upstream has none, all users are searched for claimants.
  const isComplete = ({ createdAt, safetyIdentifier }: ReportedTask): boolean =>
    createdAt !== undefined && (safetyIdentifier !== undefined || !traitsOf(account).takesSafetyIdentifier);
  const fitting = reported.filter((one) => isComplete(one) && fits(task, one));
  const unbound = fitting.length === 0 ? [] : await unboundOf(services, { ...search, reported: fitting });
  const [only] = unbound;
  if (!only) return undefined;
  if (unbound.length === 1 && only.claimants === 1n) return fitting.find(({ id }) => id === only.id);
  services.log.warn('task.reconciliation_ambiguous', {
    task: task.id,
    candidates: unbound.length,
    tasks: Number(only.claimants),
  });
  return undefined;
}

/** Whether a task of the provider can be the one that this submission created. Values that were not reported exclude nothing. */
function fits(task: TaskRow, { createdAt, safetyIdentifier }: ReportedTask): boolean {
  if (safetyIdentifier !== undefined && safetyIdentifier !== task.safety_identifier) return false;
  const age = createdAt === undefined ? 0 : createdAt - task.created_at.getTime() / 1_000;
  return age >= -CLOCK_SKEW_S && age <= SUBMISSION_WINDOW_S + CLOCK_SKEW_S;
}

/**
 * The candidates that belong to no task of ours yet, and how many tasks of this user each of them can belong to. Both are read in one
 * statement: between two, a submission could end and be seen by neither. Tasks that were given up count: a candidate may be theirs.
 * An upstream that does not name users lists the tasks of all users, and of all accounts with the same address.
 */
async function unboundOf(
  { db, catalog }: ReconcileServices,
  { task, account, reported: candidates }: Search,
): Promise<readonly { readonly id: string; readonly claimants: bigint }[]> {
  const namesUsers = traitsOf(account).takesSafetyIdentifier;
  const accountIds = namesUsers ? [account.id] : accountsAt(catalog(), account.baseUrl);
  const owner = namesUsers ? sql`t.user_id = ${task.user_id} and t.upstream_model = ${task.upstream_model}` : sql`true`;
  const { rows } = await sql<{ id: string; claimants: bigint }>`
    select c.id, (
      select count(*) from video_tasks t
      where ${owner} and t.account_id = any(${accountIds})
        and t.upstream_id is null and t.submission in ('sending', 'unknown')
        and (t.finished_at is null or t.error ->> 'code' = 'submission_failed')
        and c.created_at - extract(epoch from t.created_at) between ${-CLOCK_SKEW_S}::int and ${SUBMISSION_WINDOW_S + CLOCK_SKEW_S}::int
    ) as claimants
    from unnest(${candidates.map(({ id }) => id)}::text[], ${candidates.map(({ createdAt }) => createdAt ?? 0)}::float8[]) c (id, created_at)
    where not exists (select from video_tasks b where b.account_id = any(${accountIds}) and b.upstream_id = c.id)`.execute(
    db,
  );
  return rows;
}

const accountsAt = (catalog: Catalog, url: string): readonly string[] =>
  catalog
    .groups()
    .flatMap(({ id }) => catalog.accounts(id))
    .filter(({ baseUrl }) => baseUrl === url)
    .map(({ id }) => id);

/** Confirms a task whose submission is open, unless it ended meanwhile or another task has the provider's id. */
async function bindTask({ db, log }: ReconcileServices, task: TaskRow, upstreamId: string): Promise<void> {
  const isBound = await db.transaction().execute(async (tx) => {
    // One task at a time, so that two are never bound to one of the provider.
    await sql`select pg_advisory_xact_lock(hashtextextended(${`video.bind:${task.account_id}`}, 0))`.execute(tx);
    const { numAffectedRows = 0n } = await sql`
      update video_tasks t set submission = 'confirmed', upstream_id = ${upstreamId}, submitter = null, submitter_until = null,
        next_check_at = now(), check_attempts = 0
      where t.user_id = ${task.user_id} and t.id = ${task.id} and t.submission in ('sending', 'unknown') and t.finished_at is null
        and not exists (select from video_tasks b where b.account_id = t.account_id and b.upstream_id = ${upstreamId})`.execute(
      tx,
    );
    if (numAffectedRows > 0n) await finishRecordOf(tx, task.user_id, task.id, 200);
    crashPoint('task.binding');
    return numAffectedRows > 0n;
  });
  if (isBound) log.info('task.reconciled', { task: task.id });
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
  const reportedId = reportedIdIn(report);
  if (task.submission === 'confirmed' || reportedId === undefined) {
    await checkSoon(services, task);
    return true;
  }
  const account = accountOf(services, task);
  const found = account && (await services.provider.get(account, reportedId));
  if (found?.kind === 'failed')
    throw fail('server_is_overloaded', 'The provider cannot be asked about the task now; report it again.', {
      retryAfter: 10,
    });
  if (found?.kind === 'found' && fits(task, found.value)) await bindTask(services, task, found.value.id);
  return true;
}

/** A confirmed task has news: the worker looks at it next. */
const checkSoon = ({ db }: ReconcileServices, { user_id, id }: TaskRow) =>
  db
    .updateTable('video_tasks')
    .set({ next_check_at: sql<Date>`now()` })
    .where('user_id', '=', user_id)
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .execute();
