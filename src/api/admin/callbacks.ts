/** The delivery log of callbacks: events with their attempts, redelivery, and test events. Secrets are never shown. */
import { sql } from 'kysely';
import { z } from 'zod';
import { writeAudit } from '../../access/keys/index.ts';
import { fail, notFound } from '../../core/index.ts';
import { allRows, type Row, snapshot, type Tx } from '../../platform/db/index.ts';
import { CALLBACK_STATES } from '../../rules/index.ts';
import { line, ShownCallback, ShownCallbackAttempt, shownRow } from '../../schemas/index.ts';
import { type CallbackEventRow, deliverEventNow, redeliverEvent } from '../../video/index.ts';
import { operation } from './handler.ts';
import { listOperation } from './list.ts';
import { inState, param } from './query-params.ts';
import { reason } from './request-body.ts';

const TestBody = z.strictObject({
  user: line(64, 'the owner of the task'),
  task: line(80, 'the task (`task_...`) whose callback URL gets the event'),
});

/** Names of parameters stay; their values, a name and a password may be secrets of the receiver. */
function urlView(text: string): string {
  const url = new URL(text);
  const names = [...new Set(url.searchParams.keys())];
  const query = names.map((name) => `${encodeURIComponent(name)}=…`).join('&');
  return `${url.origin}${url.pathname}${query === '' ? '' : `?${query}`}`;
}

function callbackView(row: CallbackEventRow): ShownCallback {
  const next = row.state === 'pending' ? row.next_at.toISOString() : null;
  return shownRow(ShownCallback, row, { ...DETAILS, id: row.event_id, next_attempt_at: next });
}

/** Of a single callback only. */
const DETAILS = { url: undefined, body: undefined };

const eventOf = (tx: Tx, id: string) => tx.selectFrom('callback_events').selectAll().where('event_id', '=', id);

export const CALLBACKS_OPERATIONS = {
  'admin.callbacks': listOperation({
    filters: { user: param.user, task: param.task, host: param.host, state: inState('callbacks', CALLBACK_STATES) },
    order: 'newest',
    isLog: true,
    id: 'event_id',
    from: sql<CallbackEventRow>`select * from callback_events`,
    view: callbackView,
  }),
  'admin.callback': operation({
    async handle({ id }, { db }) {
      const found = await snapshot(db, async (tx) => {
        const event = await eventOf(tx, id).executeTakeFirst();
        if (!event) throw notFound('callback', id);
        const attempts = await allRows(tx)<Row<'callback_attempts'>>`
          select * from callback_attempts where user_id = ${event.user_id} and event_id = ${id} order by attempt`;
        return { event, attempts };
      });
      return {
        object: 'callback',
        ...callbackView(found.event),
        url: urlView(found.event.url),
        body: found.event.body.toString('utf8'),
        attempt_log: found.attempts.map((row) =>
          shownRow(ShownCallbackAttempt, row, { at: row.created_at.toISOString() }),
        ),
      };
    },
  }),
  /**
   * The row is locked: two operators redeliver once, and a worker that has the event finishes it first. A waiting one
   * is sent at once.
   */
  'admin.redeliverCallback': operation({
    body: z.strictObject({ reason: reason.optional() }),
    status: 202,
    object: 'callback',
    handle: ({ id, by, body }, { db }) =>
      db.transaction().execute(async (tx) => {
        const row = await eventOf(tx, id).forUpdate().executeTakeFirst();
        if (!row) throw notFound('callback', id);
        const redelivered = row.state === 'pending' ? await deliverEventNow(tx, row) : await redeliverEvent(tx, row);
        if (!redelivered) throw fail('conflict', 'The callback is being delivered right now.');
        const subject = `callback:${id}`;
        const after = { user: row.user_id, task: row.task_id, host: row.host, reason: body.reason };
        await writeAudit(tx, by, { action: 'callback.redelivered', subject, before: { state: row.state }, after });
        return callbackView(redelivered);
      }),
  }),
  /** Sends at once and waits for the outcome, at most 15 seconds. */
  'admin.testCallback': operation({
    body: TestBody,
    async handle({ by, body: { user, task } }, { db, video }) {
      const sent = await video.testCallback(user, task);
      if (sent === 'no_task') throw notFound('task', task, 'task');
      if (sent === 'no_url') throw fail('conflict', 'The task has no callback URL.');
      const { eventId, host, delivered, status, error, durationMs } = sent;
      const outcome = { user, task, host, delivered, status, error };
      await writeAudit(db, by, { action: 'callback.tested', subject: `callback:${eventId}`, after: outcome });
      return { object: 'callback_test', id: eventId, ...outcome, duration_ms: durationMs };
    },
  }),
};
