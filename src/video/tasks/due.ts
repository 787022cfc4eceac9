/**
 * Tasks whose check is due. Taking one schedules its next check by the usual interval,
 * so a check without news writes nothing else.
 */
import { sql } from 'kysely';
import { allRows, type Db, firstRow } from '../../platform/db/index.ts';
import { CHECK_INTERVALS, CHECK_JITTER, REVIEW } from '../../rules/index.ts';
import type { TaskRow } from './task.ts';

export type DueTask = Pick<
  TaskRow,
  | 'user_id'
  | 'id'
  | 'group_id'
  | 'account_id'
  | 'upstream_id'
  | 'status'
  | 'progress'
  | 'created_at'
  | 'expires_at'
  | 'missing_reports'
  | 'missing_since'
  | 'review_until'
  | 'usage_tokens'
  | 'cancel_requested_at'
  | 'upstream_model'
>;

export interface AccountSlots {
  readonly accountId: string;
  readonly slots: number;
}

/** Tasks taken by one statement. It bounds the transaction when a worker starts after a long pause. */
export const TAKE_LIMIT = 2_000;

/** `nextCheck` of the transition, as SQL: the same intervals and the same spread. */
const INTERVAL_MS = sql`(case when t.review_until is not null then ${sql.lit(REVIEW.everyMs)} ${sql.join(
  CHECK_INTERVALS.map(({ belowAgeMs, everyMs }) =>
    Number.isFinite(belowAgeMs)
      ? sql`when now() < t.created_at + ${sql.lit(belowAgeMs)} * interval '1 millisecond' then ${sql.lit(everyMs)}`
      : sql`else ${sql.lit(everyMs)}`,
  ),
  sql` `,
)} end * (1 + ${sql.lit(CHECK_JITTER)} * (2 * random() - 1)))`;

/**
 * Takes the tasks that are due longest, or will be in `aheadMs`, for each account up to its slots.
 * Workers of all replicas share them. Rows are found by their place in the table (`ctid`),
 * which cannot change while they are locked: a join by id may read the whole table.
 */
export const takeDue = (db: Db, accounts: readonly AccountSlots[], aheadMs = 0): Promise<DueTask[]> =>
  allRows(db)<DueTask>`
    update video_tasks t set next_check_at = now() + ${INTERVAL_MS} * interval '1 millisecond'
    where t.ctid = any (array(
      select due.ctid
      from unnest(${accounts.map(({ accountId }) => accountId)}::text[], ${accounts.map(({ slots }) => slots)}::int[])
        wanted (account_id, slots)
      cross join lateral (
        select d.ctid from video_tasks d
        where d.account_id = wanted.account_id and d.submission = 'confirmed'
          and d.next_check_at <= now() + ${aheadMs} * interval '1 millisecond'
        order by d.next_check_at limit wanted.slots for update skip locked) due
      limit ${sql.lit(TAKE_LIMIT)}))
    returning t.user_id, t.id, t.group_id, t.account_id, t.upstream_id, t.status, t.progress,
      t.created_at, t.expires_at, t.missing_reports, t.missing_since, t.review_until,
      t.usage_tokens, t.cancel_requested_at, t.upstream_model`;

/** Whether more than so many tasks of the account are due. */
export const hasDue = async (db: Db, accountId: string, more: number): Promise<boolean> =>
  (await firstRow(db)`
    select from video_tasks where account_id = ${accountId} and submission = 'confirmed' and next_check_at <= now()
    offset ${more} limit 1`) !== undefined;

/** Makes tasks due that were taken and not looked at. */
export async function checkAgain(db: Db, tasks: readonly DueTask[]): Promise<void> {
  if (tasks.length === 0) return;
  await sql`
    update video_tasks t set next_check_at = now()
    from unnest(${tasks.map(({ user_id }) => user_id)}::text[], ${tasks.map(({ id }) => id)}::text[])
      again (user_id, id)
    where t.user_id = again.user_id and t.id = again.id and t.next_check_at is not null`.execute(db);
}
