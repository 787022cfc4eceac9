/** Single metered calls, for questions of support, and those that were set aside because no honest upstream reports such a thing. */
import { sql } from 'kysely';
import { z } from 'zod';
import { fail, formatNanos } from '../core/index.ts';
import { type Rows, snapshot } from '../db/index.ts';
import { type Actor, writeAudit } from '../identity/index.ts';
import { charge } from '../ledger/index.ts';
import { sendJson } from '../web/index.ts';
import { type AdminHandler, type AdminServices, notFound } from './handler.ts';
import { sendPage } from './pagination.ts';
import { amount, line, readJson } from './request-body.ts';

/** Without it, a question about a quiet user would read every month there is. */
const USUAL_MS = 30 * 86_400_000;

export const listRecords: AdminHandler = async ({ call, query }, { db, clock }) => {
  const [at, id] = query.cursor(2) ?? [];
  const { limit } = query;
  const requestId = query.text('request_id');
  const start = query.time('start') ?? (requestId === undefined ? new Date(clock.now() - USUAL_MS) : undefined);
  const filters = {
    user_id: query.text('user'),
    key_id: query.text('key'),
    model: query.text('model'),
    request_id: requestId,
  };
  let find = db
    .selectFrom('usage_records')
    .selectAll()
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1);
  for (const [name, value] of Object.entries(filters))
    if (value !== undefined) find = find.where(sql.ref(name), '=', value);
  const end = query.time('end');
  if (start) find = find.where('at', '>=', start);
  if (end) find = find.where('at', '<', end);
  // Records are timed to the millisecond, so a cursor loses nothing.
  if (at !== undefined) find = find.where(sql<boolean>`(at, id) < (${timeOf(at)}, ${id})`);
  sendPage(call, await snapshot(db, (tx) => tx.executeQuery(find).then(({ rows }) => rows)), limit, {
    more: { currency: 'USD' },
    key: (row) => [row.at.toISOString(), row.id],
    view: (row) => ({
      id: row.id,
      at: row.at.toISOString(),
      user: row.user_id,
      key: row.key_id,
      group: row.group_id,
      account: row.account_id,
      model: row.model,
      operation: row.operation,
      request_id: row.request_id,
      usage: row.usage,
      images: row.images,
      charge: formatNanos(row.nanos),
      cost: row.cost_nanos === null ? null : formatNanos(row.cost_nanos),
      price: row.price_id === null ? null : String(row.price_id),
      estimated: row.estimated,
    }),
  });
};

export const listQuarantine: AdminHandler = async ({ call, query }, { db }) => {
  const [mark, id] = query.cursor(2) ?? [];
  const { limit } = query;
  const state = query.oneOf('state', ['open', 'charged', 'dismissed']) ?? 'open';
  let find = db
    .selectFrom('usage_quarantine')
    .selectAll()
    // As text: a date of ours has no microseconds.
    .select(sql<string>`to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`.as('mark'))
    .where('outcome', state === 'open' ? 'is' : '=', state === 'open' ? null : state)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (mark !== undefined) find = find.where(sql<boolean>`(created_at, id) < (${timeOf(mark)}::timestamptz, ${id})`);
  sendPage(call, await find.execute(), limit, { view: quarantined, key: (row) => [row.mark, row.id] });
};

type QuarantineRow = { [K in keyof Rows['usage_quarantine']]: unknown } & { id: string; raw: string };

const quarantined = (row: QuarantineRow) => ({
  id: row.id,
  fault: row.fault,
  record: recordIn(row.raw),
  created_at: row.created_at,
  outcome: row.outcome,
  reason: row.outcome_reason,
  resolved_at: row.resolved_at,
});

/** As the journal had it; its user may be nobody's. */
function recordIn(raw: string): { readonly userId?: unknown } | null {
  try {
    return JSON.parse(raw);
  } catch {
    return null;
  }
}

const Resolve = z.strictObject({
  amount: amount((nanos) => nanos > 0n, 'a decimal amount in quotes above zero, for example "0.012"'),
  reason: line(500),
});
const Dismiss = z.strictObject({ reason: line(500) });

export const resolveRecord: AdminHandler = async ({ call, by }, parts) => {
  const { amount: nanos, reason } = await readJson(call, Resolve);
  sendJson(call, 200, await close(call.params.record ?? '', { outcome: 'charged', nanos, reason }, by, parts));
};

export const dismissRecord: AdminHandler = async ({ call, by }, parts) => {
  const { reason } = await readJson(call, Dismiss);
  sendJson(call, 200, await close(call.params.record ?? '', { outcome: 'dismissed', nanos: 0n, reason }, by, parts));
};

/** The state, the charge and the line of the audit happen together, once. */
function close(
  id: string,
  { outcome, nanos, reason }: { outcome: 'charged' | 'dismissed'; nanos: bigint; reason: string },
  by: Actor,
  { db }: AdminServices,
): Promise<object> {
  return db.transaction().execute(async (tx) => {
    const row = await tx.selectFrom('usage_quarantine').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
    if (!row) throw notFound('record in quarantine', id);
    if (row.outcome !== null) throw fail('conflict', `The record was ${row.outcome} before.`);
    const userId = String(recordIn(row.raw)?.userId);
    if (nanos > 0n) {
      const known = await tx.selectFrom('wallets').select('user_id').where('user_id', '=', userId).executeTakeFirst();
      if (!known) throw fail('conflict', 'The user of the record does not exist; it can only be dismissed.');
      await charge(tx, { userId, nanos, reference: `quarantine:${id}`, reason });
    }
    const closed = await tx
      .updateTable('usage_quarantine')
      .set({ outcome, outcome_reason: reason, resolved_at: sql`now()` })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    await writeAudit(tx, by, {
      action: outcome === 'charged' ? 'record.resolved' : 'record.dismissed',
      subject: `record:${id}`,
      after: { reason, ...(nanos > 0n && { user: userId, amount: formatNanos(nanos) }) },
    });
    return { object: 'quarantined_record', ...quarantined(closed) };
  });
}

const TIME = /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/;
const SECONDS = '2026-01-01T00:00:00'.length;

/** Of a cursor. A day that no calendar has would be a fault of the database. */
function timeOf(text: string): string {
  const at = TIME.test(text) ? new Date(text) : undefined;
  if (!at || Number.isNaN(at.getTime()) || at.toISOString().slice(0, SECONDS) !== text.slice(0, SECONDS))
    throw fail('invalid_value', 'cursor: expected the next_cursor of a page of this list.', { param: 'cursor' });
  return text;
}
