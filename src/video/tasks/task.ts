/** A video task as a row, and the queries that find it. Every query by a caller contains the owner. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { release } from '../../ledger/index.ts';
import type { Db, Row } from '../../platform/db/index.ts';
import { type PriceUnit, type TaskStatus, VARIANT_SHEETS } from '../../rules/index.ts';
import type { GivenParameters } from '../request/task-request.ts';
import type { ReportedTask } from '../upstream/client.ts';
import type { TaskError } from '../upstream/errors.ts';

export type TaskRow = Row<'video_tasks'>;

/** Parameters as the caller gave them. */
export interface TaskParameters extends GivenParameters {
  /** The prompt may contain options that replace parameters. */
  readonly prompt_options?: boolean;
}

export const RESULT_MEMBERS = ['duration', 'resolution', 'ratio', 'seed', 'framespersecond', 'generate_audio'] as const;

/** What the provider reported about the result. */
export interface ReportedResult extends Pick<ReportedTask, (typeof RESULT_MEMBERS)[number] | 'usage'> {
  /** A last frame was generated. */
  readonly last_frame?: boolean;
  /** The usage as it was reported, where it cannot be believed; for operators. */
  readonly doubted_usage?: string;
}

export const unitOf = ({ unit }: Pick<TaskRow, 'unit'>): PriceUnit => unit as PriceUnit;
export const statusOf = (task: TaskRow): TaskStatus => task.status as TaskStatus;
export const parametersOf = (task: Pick<TaskRow, 'parameters'>): TaskParameters => task.parameters as TaskParameters;
export const reportedOf = (task: TaskRow): ReportedResult => (task.reported ?? {}) as ReportedResult;
export const errorOf = (task: TaskRow): TaskError | undefined => (task.error ?? undefined) as TaskError | undefined;

/** The secret path of a task is stored as a hash, so that a stolen dump cannot report for the provider. */
export const hashCallbackToken = (token: string): Buffer => createHash('sha256').update(token).digest();

export const holdReference = (taskId: string): string => `task:${taskId}`;
export const callbackSecretLocation = (taskId: string) => `video_tasks.callback_secret:${taskId}` as const;

/** Any other id cannot exist. */
export const isTaskId = (id: string): boolean => /^task_[A-Za-z0-9]{1,64}$/.test(id);

/** A task is found and changed by its owner too. */
export type TaskName = Pick<TaskRow, 'user_id' | 'id'>;
const selectTask = (db: Db, user_id: string, id: string) =>
  db.selectFrom('video_tasks').selectAll().where('user_id', '=', user_id).where('id', '=', id);
export const updateTask = (db: Db, { user_id, id }: TaskName) =>
  db.updateTable('video_tasks').where('user_id', '=', user_id).where('id', '=', id);

/** Undefined alike for missing, deleted and foreign tasks: one query, so that a response cannot differ. */
export const findTask = (db: Db, userId: string, id: string): Promise<TaskRow | undefined> =>
  selectTask(db, userId, id).where('deleted_at', 'is', null).executeTakeFirst();

/** The newest state of a task, locked until the end of the transaction. */
export const lockTask = (tx: Db, { user_id, id }: TaskName): Promise<TaskRow | undefined> =>
  selectTask(tx, user_id, id).forUpdate().executeTakeFirst();

/** The task also after its owner deleted it: a replay of its creation still returns its id. */
export const findCreatedTask = (db: Db, userId: string, id: string): Promise<TaskRow | undefined> =>
  selectTask(db, userId, id).executeTakeFirst();

export interface TaskFilter {
  readonly userId: string;
  readonly statuses?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly serviceTier?: string | undefined;
  readonly labels?: readonly string[] | undefined;
}

/** Days that lists show, and the variants with that limit (V 4.4). */
const LIST_WINDOWS = Map.groupBy(Object.entries(VARIANT_SHEETS), ([, { listDays }]) => listDays);

/**
 * The tasks of one user that a list may show, without order or page. Reads only columns of one index, but for labels.
 */
function listed(db: Db, { userId, statuses, ids, model, serviceTier, labels }: TaskFilter) {
  let query = db.selectFrom('video_tasks').where('user_id', '=', userId).where('deleted_at', 'is', null);
  for (const [days, sheets] of LIST_WINDOWS) {
    if (days === undefined) continue;
    const variants = sheets.map(([variant]) => variant);
    // A subquery, because PostgreSQL would compute the time again for every task.
    const start = sql<Date>`(select now() - ${days} * interval '1 day')`;
    query = query.where(({ or, eb }) => or([eb('variant', 'not in', variants), eb('created_at', '>', start)]));
  }
  if (statuses) query = query.where('status', '=', sql<string>`any(${statuses})`);
  if (ids) query = query.where('id', '=', sql<string>`any(${ids})`);
  if (model !== undefined) query = query.where('model', '=', model);
  if (labels) query = query.where('label', '=', sql<string>`any(${labels})`);
  if (serviceTier !== undefined) query = query.where('service_tier', '=', serviceTier);
  return query;
}

/** A part of a list: at most `limit` tasks, after the first `offset` ones or after the task `after`. */
interface ListPart {
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset?: number;
  /** The id of a task of the same user. */
  readonly after?: string | undefined;
}

/**
 * The rows of a part. Their ids come from the index alone,
 * so that tasks that are skipped or filtered out cost no access to the table.
 * The time of `after` is read there too: a `Date` would lose its microseconds, and tasks with them.
 */
function rowsOf(db: Db, filter: TaskFilter, { order, limit, offset = 0, after }: ListPart): Promise<TaskRow[]> {
  let tasks = listed(db, filter);
  if (after !== undefined)
    tasks = tasks.where(
      sql<boolean>`(created_at, id) ${sql.raw(order === 'asc' ? '>' : '<')}
        (select created_at, id from video_tasks where user_id = ${filter.userId} and id = ${after})`,
    );
  const ids = tasks.select('id').orderBy('created_at', order).orderBy('id', order).limit(limit).offset(offset);
  const own = db.selectFrom('video_tasks').selectAll().where('user_id', '=', filter.userId);
  return own.where('id', 'in', ids).orderBy('created_at', order).orderBy('id', order).execute();
}

/** One page, newest first, and the number of all matches. */
export async function listTasks(db: Db, filter: TaskFilter, page: { number: number; size: number }) {
  const offset = (page.number - 1) * page.size;
  const items = await rowsOf(db, filter, { order: 'desc', limit: page.size, offset });
  const isLast = items.length < page.size && (items.length > 0 || offset === 0);
  return { items, total: isLast ? offset + items.length : await countTasks(db, filter) };
}

async function countTasks(db: Db, filter: TaskFilter): Promise<number> {
  const { total } = await listed(db, filter)
    .select(({ fn }) => fn.countAll<bigint>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(total);
}

/** One page after a task, for lists with a cursor; one row more than the limit says that there are further ones. */
export const listTasksAfter = (db: Db, filter: TaskFilter, page: ListPart): Promise<readonly TaskRow[]> =>
  rowsOf(db, filter, { ...page, limit: page.limit + 1 });

/**
 * Removes a task that no provider has, with its hold: its id was never a task of the caller.
 * False when the task is gone or was confirmed meanwhile.
 */
export async function discardTask(tx: Db, { user_id, id }: TaskName): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('video_tasks')
    .where('user_id', '=', user_id)
    .where('id', '=', id)
    .where('submission', 'in', ['pending', 'sending'])
    .executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  await release(tx, holdReference(id));
  return true;
}
