/**
 * Reconciliation of tasks whose submission is unknown (V 4.2 r3): the provider's report on our secret path,
 * or its task list, shows whether it has the task. What the list leaves open goes to review with its candidates.
 * A task that has none within a day failed; its hold is released. Nothing is ever sent again.
 */
import { sql } from 'kysely';
import type { Account } from '../../catalog/index.ts';
import { overloaded } from '../../core/index.ts';
import { allRows, firstRow } from '../../platform/db/index.ts';
import { SUBMISSION_TIMEOUT_SECONDS } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { reportedIdIn, traitsOf } from '../upstream/adapters.ts';
import type { ReportedTask } from '../upstream/client.ts';
import { taskError } from '../upstream/errors.ts';
import { bindTask, providerScope } from './bind.ts';
import { creationWindow, isComplete, isPossible, shownCandidates } from './candidate.ts';
import { matchClaims, readClaims, type SubmissionClaim, unboundOf } from './claims.ts';
import { readProviderList } from './provider-list.ts';
import { changeStatus } from './status.ts';
import { hashCallbackToken, type TaskName, type TaskRow, updateTask } from './task.ts';

/** Seconds until the next check, by the number of checks so far; then hourly. */
const SCHEDULE_S = [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600] as const;
/** Tasks looked at per run. The provider allows one list request per second and account. */
const BATCH = 20;

type ReconcileServices = Pick<VideoServices, 'db' | 'catalog' | 'secret' | 'clock' | 'provider' | 'log' | 'publicUrl'>;

/** Looks for unknown tasks that are due. Returns how many it looked at. */
export async function reconcileSubmissions(services: ReconcileServices): Promise<number> {
  const due = await takeDue(services);
  const byList = Map.groupBy(due, (task) => `${task.account_id}\n${providerModelOf(services, task)}`);
  for (const tasks of byList.values()) await reconcileGroup(services, tasks);
  return due.length;
}

/**
 * Takes tasks by moving their next check, so that no other worker checks at the same time.
 * One check is when the time is over.
 */
async function takeDue({ db }: ReconcileServices): Promise<readonly TaskRow[]> {
  const delays = sql.raw(`(array[${SCHEDULE_S.join(',')}])`);
  const next = sql`now() + ${delays}[least(t.check_attempts + 1, ${SCHEDULE_S.length})] * interval '1 second'`;
  const timeout = sql`t.created_at + ${SUBMISSION_TIMEOUT_SECONDS} * interval '1 second'`;
  return allRows(db)<TaskRow>`
    with due as materialized (
      select user_id, id from video_tasks
      where next_check_at <= now() and submission = 'unknown' and finished_at is null
      order by next_check_at limit ${BATCH} for update skip locked)
    update video_tasks t set check_attempts = t.check_attempts + 1,
      next_check_at = case when ${timeout} > now() then least(${next}, ${timeout}) else ${next} end
    from due where t.user_id = due.user_id and t.id = due.id returning t.*`;
}

/** The tasks of one account and model. The list settles submissions that are not due as well. */
async function reconcileGroup(services: ReconcileServices, tasks: readonly TaskRow[]): Promise<void> {
  const account = tasks[0] && services.catalog().account(tasks[0].account_id);
  const found = account && (await findOwners(services, account, tasks));
  const bound = new Set<string>();
  for (const { claim, candidate } of found?.pairs ?? [])
    if (account && (await bind(services, account, claim, candidate.id))) bound.add(claim.id);
  for (const task of tasks) {
    if (bound.has(task.id)) continue;
    if (found) await saveCandidates(services, task, found.open);
    await failIfOverdue(services, task);
  }
}

/** Undefined when the provider cannot be asked, or when too many submissions are unknown. */
async function findOwners(services: ReconcileServices, account: Account, tasks: readonly TaskRow[]) {
  const { db, log } = services;
  const traits = traitsOf(account);
  const model = providerModelOf(services, tasks[0] as TaskRow);
  const from = Math.min(...tasks.map((task) => creationWindow(task).from));
  const listed = await readProviderList(services, account, { upstreamModel: model, from });
  if (!listed) return undefined;
  const users = new Map(tasks.map((task) => [task.safety_identifier, task.user_id]));
  const candidates = listed.filter(
    (one) => isComplete(one, traits) && (one.safetyIdentifier === undefined || users.has(one.safetyIdentifier)),
  );
  const scope = providerScope(services, account);
  const userIds = traits.takesSafetyIdentifier ? [...new Set(users.values())] : undefined;
  const hasModel = (claim: SubmissionClaim): boolean => providerModelOf(services, claim) === model;
  const claims = await readClaims(db, { accountIds: scope.accountIds, userIds, hasModel }, candidates);
  if (claims) return matchClaims(claims, await unboundOf(db, scope, candidates));
  log.error('task.reconciliation_overflowed', { account: account.id });
  return undefined;
}

async function bind(services: ReconcileServices, account: Account, task: TaskName, upstreamId: string) {
  const { db, log } = services;
  const provider = providerScope(services, account);
  const isBound = await db.transaction().execute((tx) => bindTask(tx, { task, upstreamId, provider }));
  if (isBound) log.info('task.reconciled', { task: task.id });
  return isBound;
}

/** The model's name at the provider, which several of our models may share. */
const providerModelOf = (services: ReconcileServices, task: Pick<TaskRow, 'account_id' | 'upstream_model'>): string =>
  services.catalog().account(task.account_id)?.models.get(task.upstream_model) ?? task.upstream_model;

/** Shows the operator what can be the task's; nothing is written while it stays the same. */
async function saveCandidates({ db, log }: ReconcileServices, task: TaskRow, open: readonly ReportedTask[]) {
  const possible = open.filter((candidate) => isPossible(task, candidate));
  const shown = possible.length === 0 ? null : JSON.stringify(shownCandidates(task, possible));
  await sql`
    update video_tasks set candidates = ${shown}::jsonb
    where user_id = ${task.user_id} and id = ${task.id} and submission = 'unknown' and finished_at is null
      and candidates is distinct from ${shown}::jsonb`.execute(db);
  if (shown !== null) log.warn('task.reconciliation_ambiguous', { task: task.id, candidates: possible.length });
}

/** A task with candidates stays until an operator decides, or until it expires. */
async function failIfOverdue(services: ReconcileServices, task: TaskRow): Promise<void> {
  const { db, log } = services;
  const failed = await db.transaction().execute(async (tx) => {
    const overdue = await firstRow(tx)<TaskRow>`
      select * from video_tasks
      where user_id = ${task.user_id} and id = ${task.id} and submission = 'unknown'
        and finished_at is null and candidates is null
        and created_at < now() - ${SUBMISSION_TIMEOUT_SECONDS} * interval '1 second'
      for update`;
    return overdue && changeStatus(services, tx, overdue, { to: 'failed', error: taskError('submission_failed') });
  });
  if (failed) log.error('task.submission_failed', { task: task.id, account: task.account_id });
}

/**
 * The provider reported a task on its secret path. The report itself is only a hint:
 * the id in it is checked with the provider before it is trusted. False when no task has this path.
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
  const account = services.catalog().account(task.account_id);
  const found = account && (await services.provider.get(account, reportedId));
  if (found?.kind === 'failed')
    throw overloaded('The provider cannot be asked about the task now; report it again.', 10);
  // The secret path is stronger evidence than the parameters, which the provider may have changed.
  if (account && found?.kind === 'found' && isPossible(task, found.value))
    await bind(services, account, task, found.value.id);
  return true;
}

/** A confirmed task has news: a job reads it next. */
const checkSoon = ({ db }: ReconcileServices, task: TaskRow) =>
  updateTask(db, task).set({ next_check_at: sql<Date>`now()` }).where('finished_at', 'is', null).execute();
