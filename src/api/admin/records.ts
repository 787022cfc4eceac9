/** Single usage records, and the quarantine: records with invalid usage that were not charged. */
import { sql } from 'kysely';
import { z } from 'zod';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { fail, formatNanos } from '../../core/index.ts';
import { charge, isOfRequest, recordResolved, unpackUsage } from '../../ledger/index.ts';
import { type Db, type Row, snapshot } from '../../platform/db/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import type { QuarantinedRecord } from '../../schemas/index.ts';
import { notFound, operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param, period } from './query-params.ts';
import { amount, reason } from './request-body.ts';

/** The default start. Without one, a query about a user with few calls would read every month. */
const DEFAULT_PERIOD_MS = 30 * 86_400_000;

const RecordsQuery = z.strictObject({
  user: param.user,
  key: param.key,
  model: param.model,
  request_id: param.request_id,
  ...period,
  ...pageParams(rowKey.timeAndId),
});

export const listRecords = operation({
  query: RecordsQuery,
  async handle({ call, query }, { db, clock }) {
    const { request_id, end, limit, cursor } = query;
    const defaultStart = request_id === undefined ? new Date(clock.now() - DEFAULT_PERIOD_MS) : undefined;
    const start = query.start ?? defaultStart;
    const user = query.user ?? (query.key === undefined ? undefined : await userOf(db, query.key));
    const filters = { user_id: user, key_id: query.key, model: query.model };
    let find = db
      .selectFrom('usage_records')
      .selectAll()
      .orderBy('at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit + 1);
    for (const [name, value] of Object.entries(filters))
      if (value !== undefined) find = find.where(sql.ref(name), '=', value);
    if (request_id !== undefined) find = find.where(isOfRequest(request_id));
    if (start) find = find.where('at', '>=', start);
    if (end) find = find.where('at', '<', end);
    // Records have millisecond times, so the ISO text in the cursor is exact.
    if (cursor) {
      // The first condition is implied by the second, and lets every index begin at the page.
      find = find.where('at', '<=', new Date(cursor[0]));
      find = find.where(sql<boolean>`(at, id) < (${cursor[0]}, ${cursor[1]})`);
    }
    const rows = await snapshot(db, (tx) => tx.executeQuery(find).then((result) => result.rows));
    sendPage(call, rows, {
      limit,
      more: { currency: 'USD' },
      key: (row) => [row.at.toISOString(), row.id],
      view: recordView,
    });
  },
});

/** A key is found among the records of its user; the roll-ups know every key that has records. Empty for other keys: no user has this id. */
async function userOf(db: Db, key: string): Promise<string> {
  const find = db.selectFrom('usage_daily').select('user_id').where('key_id', '=', key).limit(1);
  return (await find.executeTakeFirst())?.user_id ?? '';
}

const recordView = (row: Row<'usage_records'>) => ({
  id: row.id,
  at: row.at.toISOString(),
  user: row.user_id,
  key: row.key_id,
  group: row.group_id,
  account: row.account_id,
  model: row.model,
  operation: row.operation,
  request_id: row.request_id,
  usage: unpackUsage(row),
  images: row.images,
  charge: formatNanos(row.nanos),
  cost: row.cost_nanos === null ? null : formatNanos(row.cost_nanos),
  price: row.price_id === null ? null : String(row.price_id),
  estimated: row.estimated,
});

const QuarantineQuery = z.strictObject({
  state: z
    .enum(['open', 'charged', 'dismissed'])
    .default('open')
    .describe('of records: `open` (default), `charged` or `dismissed`'),
  ...pageParams(rowKey.timeAndId),
});

export const listQuarantine = operation({
  query: QuarantineQuery,
  async handle({ call, query: { state, limit, cursor } }, { db }) {
    let find = db
      .selectFrom('usage_quarantine')
      .selectAll()
      // As text, because a JavaScript Date has no microseconds.
      .select(sql<string>`to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`.as('created'))
      .where('outcome', state === 'open' ? 'is' : '=', state === 'open' ? null : state)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit + 1);
    if (cursor) find = find.where(sql<boolean>`(created_at, id) < (${cursor[0]}::timestamptz, ${cursor[1]})`);
    sendPage(call, await find.execute(), { limit, view: quarantineView, key: (row) => [row.created, row.id] });
  },
});

const quarantineView = (row: Row<'usage_quarantine'>): QuarantinedRecord => ({
  id: row.id,
  fault: row.fault,
  record: parseRecord(row.raw),
  created_at: row.created_at.toISOString(),
  outcome: row.outcome as QuarantinedRecord['outcome'],
  reason: row.outcome_reason,
  resolved_at: row.resolved_at?.toISOString() ?? null,
});

/** The record as the journal held it. Its user may not exist. */
function parseRecord(raw: string): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(raw);
  } catch {
    return null;
  }
}

const ResolveBody = z.strictObject({
  amount: amount((nanos) => nanos > 0n, 'a decimal amount in quotes above zero, for example "0.012"'),
  reason,
});

export const resolveRecord = operation({
  body: ResolveBody,
  async handle({ call, by, body: { amount: nanos, reason } }, { db, clock }) {
    const id = call.params.record ?? '';
    const closed = await close(db, { id, outcome: 'charged', nanos, reason, by, now: clock.now() });
    sendJson(call, 200, closed);
  },
});

export const dismissRecord = operation({
  body: z.strictObject({ reason }),
  async handle({ call, by, body: { reason } }, { db, clock }) {
    const id = call.params.record ?? '';
    const closed = await close(db, { id, outcome: 'dismissed', nanos: 0n, reason, by, now: clock.now() });
    sendJson(call, 200, closed);
  },
});

interface Decision {
  readonly id: string;
  readonly outcome: 'charged' | 'dismissed';
  readonly nanos: bigint;
  readonly reason: string;
  readonly by: Actor;
  readonly now: number;
}

/** The outcome, the charge, its usage record and the audit line are one transaction. A record is closed once. */
function close(db: Db, { id, outcome, nanos, reason, by, now }: Decision): Promise<object> {
  return db.transaction().execute(async (tx) => {
    const row = await tx.selectFrom('usage_quarantine').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
    if (!row) throw notFound('record in quarantine', id);
    if (row.outcome !== null) throw fail('conflict', `The record is already ${row.outcome}.`);
    const userId = String(parseRecord(row.raw)?.userId);
    if (nanos > 0n) {
      const known = await tx.selectFrom('wallets').select('user_id').where('user_id', '=', userId).executeTakeFirst();
      if (!known) throw fail('conflict', 'The user of the record does not exist; dismiss the record instead.');
      await charge(tx, { userId, nanos, reference: `quarantine:${id}`, reason });
      await recordResolved(tx, { id, userId, raw: parseRecord(row.raw) ?? {}, nanos, now });
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
    return { object: 'quarantined_record', ...quarantineView(closed) };
  });
}
