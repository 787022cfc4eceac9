/** Deliveries of callbacks as their owner sees them. Every query contains the owner. */
import { sql } from 'kysely';
import { unixSeconds } from '../../core/index.ts';
import type { Db, Row, Tx } from '../../platform/db/index.ts';
import type { CallerCallback } from '../../schemas/index.ts';
import type { ListPage } from '../assets/rows.ts';
import type { VideoOwner } from '../services.ts';

interface CallbackFilter extends VideoOwner {
  readonly task?: string | undefined;
  readonly states?: readonly string[] | undefined;
}

/** Attempts shown at most: those of several redeliveries. */
const MAX_ATTEMPTS = 200;

export function ownCallbacks(db: Db) {
  const eventsOf = (tx: Db, { userId }: VideoOwner) =>
    tx.selectFrom('callback_events').selectAll().where('user_id', '=', userId);
  return {
    /**
     * One page, newest first, and one row more when there are further ones.
     * `after` is the id of an event of the same user.
     */
    list({ userId, task, states }: CallbackFilter, { after, limit }: ListPage): Promise<readonly CallbackEventRow[]> {
      let find = eventsOf(db, { userId })
        .orderBy('created_at', 'desc')
        .orderBy('event_id', 'desc')
        .limit(limit + 1);
      if (task !== undefined) find = find.where('task_id', '=', task);
      if (states) find = find.where('state', '=', sql<string>`any(${states})`);
      if (after !== undefined)
        find = find.where(
          sql<boolean>`(created_at, event_id) < (
            select created_at, event_id from callback_events where user_id = ${userId} and event_id = ${after})`,
        );
      return find.execute();
    },

    find: (owner: VideoOwner, id: string): Promise<CallbackEventRow | undefined> =>
      eventsOf(db, owner).where('event_id', '=', id).executeTakeFirst(),

    /** A waiting one is sent at once. `pending`: an attempt is running, and nothing changed. */
    redeliver: (owner: VideoOwner, id: string): Promise<CallbackEventRow | 'pending' | undefined> =>
      db.transaction().execute(async (tx) => {
        const event = await eventsOf(tx, owner).where('event_id', '=', id).forUpdate().executeTakeFirst();
        if (!event) return undefined;
        if (event.state !== 'pending') return redeliverEvent(tx, event);
        return (await deliverEventNow(tx, event)) ?? 'pending';
      }),

    view: viewOf,

    async detail(event: CallbackEventRow): Promise<CallerCallback> {
      const { rows: attempts } = await sql<Row<'callback_attempts'>>`
        select * from callback_attempts where user_id = ${event.user_id} and event_id = ${event.event_id}
        order by attempt desc limit ${MAX_ATTEMPTS}`.execute(db);
      return detailOf(event, attempts);
    },
  };
}

const viewOf = (row: CallbackEventRow): CallerCallback => ({
  id: row.event_id,
  object: 'callback',
  task_id: row.task_id,
  url: row.url,
  state: row.state as CallerCallback['state'],
  attempts: row.attempts,
  last_status: row.last_status,
  last_error: row.last_error,
  next_attempt_at: row.state === 'pending' ? unixSeconds(row.next_at) : null,
  created_at: unixSeconds(row.created_at),
  finished_at: row.finished_at && unixSeconds(row.finished_at),
});

/** With the body as it was signed, and what each attempt got. */
const detailOf = (row: CallbackEventRow, attempts: readonly Row<'callback_attempts'>[]): CallerCallback => ({
  ...viewOf(row),
  request: { method: 'POST', body: row.body.toString('utf8') },
  attempt_log: attempts.map((attempt) => ({
    attempt: attempt.attempt,
    at: unixSeconds(attempt.created_at),
    status: attempt.status,
    error: attempt.error,
    duration_ms: attempt.duration_ms,
  })),
});

/**
 * Delivery on demand: of a finished event again, with the same id and body and the schedule from its start,
 * and of a waiting one at once.
 */
export type CallbackEventRow = Row<'callback_events'>;

type EventId = Pick<CallbackEventRow, 'user_id' | 'event_id' | 'host'>;

/** The caller holds the lock of the row. */
export async function redeliverEvent(tx: Tx, event: EventId): Promise<CallbackEventRow> {
  await probeNow(tx, event);
  return tx
    .updateTable('callback_events')
    .set({ state: 'pending', finished_at: null, next_at: sql<Date>`now()`, attempts_before: sql<number>`attempts` })
    .where('user_id', '=', event.user_id)
    .where('event_id', '=', event.event_id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/**
 * The caller holds the lock of the row, which is pending. Undefined while an attempt runs.
 * Only its turn moves: the attempt is one of the schedule, taken under its lease, so asking twice sends once.
 */
export async function deliverEventNow(tx: Tx, event: EventId): Promise<CallbackEventRow | undefined> {
  const sooner = await tx
    .updateTable('callback_events')
    .set({ next_at: sql<Date>`least(next_at, now())` })
    .where('user_id', '=', event.user_id)
    .where('event_id', '=', event.event_id)
    .where(sql<boolean>`(sending_until is null or sending_until <= now())`)
    .returningAll()
    .executeTakeFirst();
  if (!sooner) return undefined;
  await probeNow(tx, event);
  await sql`select pg_notify('dragoman_work', 'callbacks')`.execute(tx);
  return sooner;
}

/** Lets the next attempt through an open circuit: who asks expects the receiver to work. */
const probeNow = (tx: Tx, { user_id, host }: EventId): Promise<unknown> =>
  tx
    .updateTable('callback_circuits')
    .set({ probe_at: sql<Date>`least(probe_at, now())` })
    .where('user_id', '=', user_id)
    .where('host', '=', host)
    .where('probe_at', 'is not', null)
    .execute();
