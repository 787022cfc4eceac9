/** Single usage records, and the quarantine: records with invalid usage that were not charged. */
import { sql } from 'kysely';
import { z } from 'zod';
import { writeAudit } from '../../access/keys/index.ts';
import { fail, formatNanos, notFound } from '../../core/index.ts';
import { charge, isOfRequest, recordResolved, unpackUsage } from '../../ledger/index.ts';
import type { Db, Row } from '../../platform/db/index.ts';
import { QuarantinedRecord, ShownRecord, shownRow } from '../../schemas/index.ts';
import { type AdminServices, operation, type Reasoned } from './handler.ts';
import { sendRows } from './list.ts';
import { pageParams, rowKey } from './pagination.ts';
import { params, period } from './query-params.ts';
import { amount, reason } from './request-body.ts';

/** The default start. Without one, a query about a user with few calls would read every month. */
const DEFAULT_PERIOD_MS = 30 * 86_400_000;

const RecordsQuery = z.strictObject({
  ...params('user', 'key', 'model', 'request_id'),
  ...period,
  ...pageParams(rowKey.timeAndId),
});

/**
 * A key is found among the records of its user; the roll-ups know every key that has records. Empty for other keys: no
 * user has this id.
 */
async function userOf(db: Db, key: string): Promise<string> {
  const find = db.selectFrom('usage_daily').select('user_id').where('key_id', '=', key).limit(1);
  return (await find.executeTakeFirst())?.user_id ?? '';
}

const recordView = (row: Row<'usage_records'>) =>
  shownRow(ShownRecord, row, { usage: { ...unpackUsage(row) }, charge: formatNanos(row.nanos) });

const QuarantineQuery = z.strictObject({
  state: z
    .enum(['open', 'charged', 'dismissed'])
    .default('open')
    .describe('of records: `open` (default), `charged` or `dismissed`'),
  ...pageParams(rowKey.timeAndId),
});

const quarantineView = (row: Row<'usage_quarantine'>) =>
  shownRow(QuarantinedRecord, row, { record: parseRecord(row.raw), reason: row.outcome_reason });

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

/**
 * The outcome, the charge, its usage record and the audit line are one transaction. A record is closed once. It is
 * dismissed when nothing is charged.
 */
function close({ db, clock }: AdminServices, nanos: bigint, { id, by, body: { reason } }: Reasoned): Promise<object> {
  const outcome = nanos > 0n ? 'charged' : 'dismissed';
  return db.transaction().execute(async (tx) => {
    const row = await tx.selectFrom('usage_quarantine').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
    if (!row) throw notFound('record in quarantine', id);
    if (row.outcome !== null) throw fail('conflict', `The record is already ${row.outcome}.`);
    const userId = String(parseRecord(row.raw)?.userId);
    if (nanos > 0n) {
      const known = await tx.selectFrom('wallets').select('user_id').where('user_id', '=', userId).executeTakeFirst();
      if (!known) throw fail('conflict', 'The user of the record does not exist; dismiss the record instead.');
      await charge(tx, { userId, nanos, reference: `quarantine:${id}`, reason });
      await recordResolved(tx, { id, userId, raw: parseRecord(row.raw) ?? {}, nanos, now: clock.now() });
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

export const RECORDS_OPERATIONS = {
  'admin.records': operation({
    query: RecordsQuery,
    async handle({ call, query: { request_id, end, start, ...query } }, { db, clock }) {
      const first = start ?? (request_id === undefined ? new Date(clock.now() - DEFAULT_PERIOD_MS) : new Date(0));
      const user = query.user ?? (query.key === undefined ? undefined : await userOf(db, query.key));
      const from = sql<Row<'usage_records'>>`
      select * from usage_records where at >= ${first} ${end ? sql`and at < ${end}` : sql``}
        ${request_id === undefined ? sql`` : sql`and ${isOfRequest(request_id)}`}`;
      const list = {
        order: 'newest',
        by: 'at',
        from,
        view: recordView,
        isLog: true,
        more: { currency: 'USD' },
      } as const;
      await sendRows(call, db, list, { ...query, user });
    },
  }),
  'admin.quarantine': operation({
    query: QuarantineQuery,
    handle: ({ call, query: { state, ...query } }, { db }) => {
      const from = sql<Row<'usage_quarantine'>>`
      select * from usage_quarantine where ${state === 'open' ? sql`outcome is null` : sql`outcome = ${state}`}`;
      return sendRows(call, db, { order: 'newest', from, view: quarantineView }, query);
    },
  }),
  'admin.resolveRecord': operation({
    body: ResolveBody,
    handle: (input, services) => close(services, input.body.amount, input),
  }),
  'admin.dismissRecord': operation({
    body: z.strictObject({ reason }),
    handle: (input, services) => close(services, 0n, input),
  }),
};
