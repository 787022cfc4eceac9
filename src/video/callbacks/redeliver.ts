/** Delivery on demand: of a finished event again, with the same id and body and the schedule from its start, and of a waiting one at once. */
import { sql } from 'kysely';
import type { Row, Tx } from '../../platform/db/index.ts';

export type CallbackEventRow = Row<'callback_events'>;

type EventId = Pick<CallbackEventRow, 'user_id' | 'event_id' | 'host'>;

/** The caller holds the lock of the row. */
export async function redeliverEvent(tx: Tx, event: EventId): Promise<CallbackEventRow> {
  await probeNow(tx, event);
  return tx
    .updateTable('callback_events')
    .set({
      state: 'pending',
      finished_at: null,
      next_at: sql<Date>`now()`,
      attempts_before: sql<number>`attempts`,
    })
    .where('user_id', '=', event.user_id)
    .where('event_id', '=', event.event_id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/**
 * The caller holds the lock of the row, which is pending. Undefined while an attempt runs. Only its turn moves: the attempt is one of the
 * schedule, taken under its lease, so asking twice sends once.
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
