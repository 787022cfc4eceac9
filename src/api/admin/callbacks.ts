/** The delivery log of callbacks: events with their attempts, redelivery, and test events. Secrets are never shown. */
import { sql } from 'kysely';
import { z } from 'zod';
import { writeAudit } from '../../access/keys/index.ts';
import { fail } from '../../core/index.ts';
import { type Row, snapshot } from '../../platform/db/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { CALLBACK_STATES } from '../../rules/index.ts';
import { line, type ShownCallback, type ShownCallbackAttempt } from '../../schemas/index.ts';
import { type CallbackEventRow, deliverEventNow, redeliverEvent } from '../../video/index.ts';
import { notFound, operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param } from './query-params.ts';
import { reason } from './request-body.ts';

const CallbacksQuery = z.strictObject({
  user: param.user,
  task: param.task,
  host: param.host,
  state: z
    .enum(CALLBACK_STATES)
    .describe(`of callbacks: ${CALLBACK_STATES.map((name) => `\`${name}\``).join(', ')}; all by default`)
    .optional(),
  ...pageParams(rowKey.timeAndId),
});

export const listCallbacks = operation({
  query: CallbacksQuery,
  async handle({ call, query: { user, task, host, state, limit, cursor } }, { db }) {
    const rows = await snapshot(db, (tx) => {
      let find = tx
        .selectFrom('callback_events')
        .selectAll()
        // As text, because a JavaScript Date has no microseconds.
        .select(sql<string>`to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`.as('created'))
        .orderBy('created_at', 'desc')
        .orderBy('event_id', 'desc')
        .limit(limit + 1);
      if (user !== undefined) find = find.where('user_id', '=', user);
      if (task !== undefined) find = find.where('task_id', '=', task);
      if (host !== undefined) find = find.where('host', '=', host);
      if (state !== undefined) find = find.where('state', '=', state);
      if (cursor) find = find.where(sql<boolean>`(created_at, event_id) < (${cursor[0]}::timestamptz, ${cursor[1]})`);
      return find.execute();
    });
    sendPage(call, rows, { limit, view: callbackView, key: (row) => [row.created, row.event_id] });
  },
});

export const getCallback = operation({
  async handle({ call }, { db }) {
    const id = call.params.event ?? '';
    const found = await snapshot(db, async (tx) => {
      const event = await tx.selectFrom('callback_events').selectAll().where('event_id', '=', id).executeTakeFirst();
      if (!event) throw notFound('callback', id);
      const attempts = await tx
        .selectFrom('callback_attempts')
        .selectAll()
        .where('user_id', '=', event.user_id)
        .where('event_id', '=', id)
        .orderBy('attempt')
        .execute();
      return { event, attempts };
    });
    sendJson(call, 200, {
      object: 'callback',
      ...callbackView(found.event),
      url: urlView(found.event.url),
      body: found.event.body.toString('utf8'),
      attempt_log: found.attempts.map(attemptView),
    });
  },
});

/** The row is locked: two operators redeliver once, and a worker that has the event finishes it first. A waiting one is sent at once. */
export const redeliverCallback = operation({
  body: z.strictObject({ reason: reason.optional() }),
  async handle({ call, by, body }, { db }) {
    const id = call.params.event ?? '';
    const event = await db.transaction().execute(async (tx) => {
      const row = await tx
        .selectFrom('callback_events')
        .selectAll()
        .where('event_id', '=', id)
        .forUpdate()
        .executeTakeFirst();
      if (!row) throw notFound('callback', id);
      const redelivered = row.state === 'pending' ? await deliverEventNow(tx, row) : await redeliverEvent(tx, row);
      if (!redelivered) throw fail('conflict', 'The callback is being delivered right now.');
      const subject = `callback:${id}`;
      const after = { user: row.user_id, task: row.task_id, host: row.host, reason: body.reason };
      await writeAudit(tx, by, { action: 'callback.redelivered', subject, before: { state: row.state }, after });
      return redelivered;
    });
    sendJson(call, 202, { object: 'callback', ...callbackView(event) });
  },
});

const TestBody = z.strictObject({
  user: line(64, 'the owner of the task'),
  task: line(80, 'the task (`task_...`) whose callback URL gets the event'),
});

/** Sends at once and waits for the outcome, at most 15 seconds. */
export const testCallbackOperation = operation({
  body: TestBody,
  async handle({ call, by, body: { user, task } }, { db, video }) {
    const sent = await video.testCallback(user, task);
    if (sent === 'no_task') throw notFound('task', task, 'task');
    if (sent === 'no_url') throw fail('conflict', 'The task has no callback URL.');
    const { eventId, host, delivered, status, error, durationMs } = sent;
    const outcome = { user, task, host, delivered, status, error };
    await writeAudit(db, by, { action: 'callback.tested', subject: `callback:${eventId}`, after: outcome });
    sendJson(call, 200, { object: 'callback_test', id: eventId, ...outcome, duration_ms: durationMs });
  },
});

/** Names of parameters stay; their values, a name and a password may be secrets of the receiver. */
function urlView(text: string): string {
  const url = new URL(text);
  const names = [...new Set(url.searchParams.keys())];
  const query = names.map((name) => `${encodeURIComponent(name)}=…`).join('&');
  return `${url.origin}${url.pathname}${query === '' ? '' : `?${query}`}`;
}

const callbackView = (row: CallbackEventRow): ShownCallback => ({
  id: row.event_id,
  user: row.user_id,
  task: row.task_id,
  version: row.version,
  host: row.host,
  state: row.state as ShownCallback['state'],
  attempts: row.attempts,
  last_status: row.last_status,
  last_error: row.last_error,
  next_attempt_at: row.state === 'pending' ? row.next_at.toISOString() : null,
  created_at: row.created_at.toISOString(),
  finished_at: row.finished_at?.toISOString() ?? null,
});

const attemptView = (row: Row<'callback_attempts'>): ShownCallbackAttempt => ({
  attempt: row.attempt,
  at: row.created_at.toISOString(),
  status: row.status,
  error: row.error,
  duration_ms: row.duration_ms,
});
