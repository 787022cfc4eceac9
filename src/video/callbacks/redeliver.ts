/** Redelivery of a finished event: the same id and body, due now, with the schedule from its start. */
import { type Selectable, sql } from 'kysely';
import type { Rows } from '../../db/index.ts';
import type { Tx } from '../services.ts';

export type CallbackEventRow = Selectable<Rows['callback_events']>;

/** The caller holds the lock of the row. Also lets the next attempt through an open circuit: the operator expects the receiver to work. */
export async function redeliverEvent(tx: Tx, { user_id, event_id, host }: CallbackEventRow): Promise<CallbackEventRow> {
  await tx
    .updateTable('callback_circuits')
    .set({ probe_at: sql<Date>`least(probe_at, now())` })
    .where('user_id', '=', user_id)
    .where('host', '=', host)
    .where('probe_at', 'is not', null)
    .execute();
  return tx
    .updateTable('callback_events')
    .set({
      state: 'pending',
      finished_at: null,
      next_at: sql<Date>`now()`,
      attempts_before: sql<number>`attempts`,
    })
    .where('user_id', '=', user_id)
    .where('event_id', '=', event_id)
    .returningAll()
    .executeTakeFirstOrThrow();
}
