/**
 * Rows of requests in batches: taken by one process at a time,
 * fairly among users, and counted in their batch when they end.
 */
import { type RawBuilder, sql } from 'kysely';
import { ADVISORY_LOCK, type Db, type Row, type Tx } from '../../platform/db/index.ts';
import { BATCHES, PROVIDER_BATCHES } from '../../rules/index.ts';

export type LineRow = Row<'batch_lines'>;
type LineState = 'succeeded' | 'errored' | 'canceled' | 'expired';

/** One process at a time takes requests, so that the limit of a user holds. */
const TAKING = 50;
const leaseEnd = sql`now() + ${BATCHES.leaseMs} * interval '1 millisecond'`;

/**
 * The next request of the user with the fewest on their way, who has waited longest.
 * Undefined when there is none to send now.
 */
export const takeLine = (db: Db): Promise<LineRow | undefined> =>
  db.transaction().execute(async (tx) => {
    await lockLines(tx);
    const { rows } = await sql<LineRow>`
      with sent as (select user_id, count(*) as open from batch_lines where state = 'sent' group by user_id),
      ready as (
        select b.user_id, b.id, b.taken_at, coalesce(s.open, 0) as open,
          max(b.taken_at) over (partition by b.user_id) as served_at
        from batches b left join sent s using (user_id)
        where b.state = 'running' and b.cancelled_at is null and b.ready_at <= now() and b.expires_at > now()
          and (b.placing_until is null
            or b.created_at < now() - ${PROVIDER_BATCHES.placingMinutes} * interval '1 minute')
          and b.result_bytes <= ${BATCHES.resultBytes} and exists (
            select from batch_lines l where l.user_id = b.user_id and l.batch_id = b.id and l.state = 'waiting')),
      next as (
        select user_id, id from ready where open < ${BATCHES.sentPerUser} order by open, served_at, taken_at limit 1),
      touched as (
        update batches b set taken_at = clock_timestamp() from next where (b.user_id, b.id) = (next.user_id, next.id))
      update batch_lines l set state = 'sent', attempts = attempts + 1, lease_until = ${leaseEnd}
      from next where (l.user_id, l.batch_id) = (next.user_id, next.id) and l.n = (
        select min(w.n) from batch_lines w
        where w.user_id = next.user_id and w.batch_id = next.id and w.state = 'waiting')
      returning l.*`.execute(tx);
    return rows[0];
  });

/** Whoever changes rows of several requests, so that two who do so do not wait for each other. */
export const lockLines = (tx: Tx) => sql`select pg_advisory_xact_lock(${ADVISORY_LOCK}, ${TAKING})`.execute(tx);

/** Only the process that took a request last may say how it ended. */
const isMine = ({ user_id, batch_id, n, attempts }: LineRow) => sql<boolean>`
  user_id = ${user_id} and batch_id = ${batch_id} and n = ${n} and state = 'sent' and attempts = ${attempts}`;

export interface LineResult {
  readonly state: LineState;
  readonly status: number;
  readonly requestId: string;
  readonly bytes: number;
  readonly sealed: Buffer;
}

export const recordLine = (db: Db, line: LineRow, { state, status, requestId, bytes, sealed }: LineResult) =>
  endLines(
    db,
    sql`state = ${state}, status = ${status}, request_id = ${requestId}, sealed = ${sealed}`,
    isMine(line),
    bytes,
  );

/** It is sent again later, after the pause; with it all of its batch waits. */
export const returnLine = (db: Db, line: LineRow, pauseSeconds: number): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await sql`update batch_lines set state = 'waiting', lease_until = null where ${isMine(line)}`.execute(tx);
    await sql`update batches set ready_at = greatest(ready_at, now() + ${pauseSeconds} * interval '1 second')
      where user_id = ${line.user_id} and id = ${line.batch_id}`.execute(tx);
  });

/** Extends the leases of what this process has sent. */
export const renewLines = (db: Db, lines: readonly LineRow[]) =>
  sql`
    update batch_lines set lease_until = ${leaseEnd}
    where state = 'sent' and (user_id, batch_id, n) in (select * from unnest(
      ${lines.map((line) => line.user_id)}::text[],
      ${lines.map((line) => line.batch_id)}::text[],
      ${lines.map(({ n }) => n)}::int[]))`.execute(db);

/**
 * Requests of processes that have ended are errors; those that wait in a batch that is cancelled,
 * too old or too large end with it.
 */
export async function endOverdue(db: Db): Promise<void> {
  await endLines(db, sql`state = 'errored'`, sql`state = 'sent' and lease_until < now()`);
  const isOver = sql<boolean>`state = 'waiting' and (user_id, batch_id) in (
    select user_id, id from batches where state = 'running'
      and (cancelled_at is not null or expires_at <= now() or result_bytes > ${BATCHES.resultBytes}))`;
  const wasCancelled = sql`exists (select from batches b
    where b.user_id = l.user_id and b.id = l.batch_id and b.cancelled_at is not null)`;
  await endLines(db, sql`state = case when ${wasCancelled} then 'canceled' else 'expired' end`, isOver);
}

const endLines = (db: Db, change: RawBuilder<unknown>, which: RawBuilder<boolean>, bytes = 0): Promise<void> =>
  db.transaction().execute((tx) => endLinesIn(tx, change, which, bytes));

/** Requests and the counts of their batches change together. */
export async function endLinesIn(tx: Tx, change: RawBuilder<unknown>, which: RawBuilder<boolean>, bytes: number) {
  await lockLines(tx);
  await sql`
    with ended as (
      update batch_lines l set lease_until = null, ${change} where ${which} returning l.user_id, l.batch_id, l.state),
    counts as (
      select user_id, batch_id,
        count(*) filter (where state = 'succeeded') as succeeded,
        count(*) filter (where state = 'errored') as errored,
        count(*) filter (where state = 'canceled') as canceled,
        count(*) filter (where state = 'expired') as expired
      from ended group by user_id, batch_id)
    update batches b set
      succeeded = b.succeeded + c.succeeded,
      errored = b.errored + c.errored,
      canceled = b.canceled + c.canceled,
      expired = b.expired + c.expired,
      result_bytes = b.result_bytes + ${bytes}::bigint
    from counts c where b.user_id = c.user_id and b.id = c.batch_id`.execute(tx);
}
