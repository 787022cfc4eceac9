/**
 * Balances, statements, and credits, refunds and adjustments. A reference is booked once; the entry and its audit line
 * are one transaction.
 */
import { z } from 'zod';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { failAt, formatNanos, notFound } from '../../core/index.ts';
import * as ledger from '../../ledger/index.ts';
import { snapshot, type Tx } from '../../platform/db/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { CREDIT_KINDS, type CreditKind, line, type ShownCredit, ShownMovement } from '../../schemas/index.ts';
import { sendCsv } from './download.ts';
import { type AdminServices, operation } from './handler.ts';
import { pageParams, rowKey, sendPage, sortedKey, sortedPage, sortedParams } from './pagination.ts';
import { money, param, period } from './query-params.ts';
import { amount, reason } from './request-body.ts';

const HOUSE: Readonly<Record<CreditKind, ledger.HouseAccount>> = {
  payment: '@funding',
  refund: '@revenue',
  adjustment: '@adjustment',
};

const CreditBody = z
  .strictObject({
    user: z.string().min(1).max(64),
    amount: amount((nanos) => nanos !== 0n, 'a decimal amount in quotes that is not zero, for example "12.50"'),
    kind: z.enum(CREDIT_KINDS).describe('by default payment, and adjustment for a negative amount').optional(),
    reason,
    reference: line(200, 'a second request with the same reference books nothing'),
  })
  .refine(({ amount, kind }) => amount > 0n || kind === undefined || kind === 'adjustment', {
    path: ['amount'],
    error: 'an amount above zero for a payment or a refund',
  });

/** Keeps references of operators apart from those that the ledger assigns. */
const PREFIX = 'credit:';
const shownReference = (reference: string): string =>
  reference.startsWith(PREFIX) ? reference.slice(PREFIX.length) : reference;

type Booking = Omit<ShownCredit, 'object' | 'currency' | 'entry' | 'at'>;

/** Books the credit and writes its audit line, unless its reference is booked already. */
export async function addCredit(tx: Tx, wanted: Booking, nanos: bigint, by: Actor) {
  const isNew = await book(tx, wanted, nanos);
  const booked = await readBooking(tx, wanted.reference);
  if (isNew) await writeAudit(tx, by, { action: 'credit.booked', subject: `user:${wanted.user}`, after: booked });
  return { isNew, booked };
}

function book(tx: Tx, { user, kind, reason, reference }: Booking, nanos: bigint): Promise<boolean> {
  const movement = { userId: user, reason, reference: PREFIX + reference };
  return nanos > 0n
    ? ledger.credit(tx, { ...movement, nanos, from: HOUSE[kind] })
    : ledger.charge(tx, { ...movement, nanos: -nanos, to: '@adjustment' });
}

/** Reads the ledger, so that two concurrent requests with one reference get the same response. */
async function readBooking(tx: Tx, reference: string): Promise<Omit<ShownCredit, 'object' | 'currency'>> {
  const row = await tx
    .selectFrom('entries')
    .selectAll()
    .where('reference', '=', PREFIX + reference)
    .executeTakeFirstOrThrow();
  const isCredit = row.kind === 'credit';
  const house = isCredit ? row.debit : row.credit;
  return {
    entry: String(row.id),
    user: isCredit ? row.credit : row.debit,
    amount: formatNanos(isCredit ? row.nanos : -row.nanos),
    kind: CREDIT_KINDS.find((kind) => HOUSE[kind] === house) ?? 'adjustment',
    reason: row.reason,
    reference,
    at: row.created_at.toISOString(),
  };
}

const BalancesQuery = z.strictObject({
  user: param.user.describe('of this user; `*` stands for any text, also of the e-mail address'),
  below: money('with less than this amount available'),
  used: z.coerce
    .number()
    .min(0)
    .max(1000)
    .describe('of users who have used this share of a spend limit, such as 0.8')
    .optional(),
  ...sortedParams('balances'),
});

const EXPORT_PAGE = 5_000;
const COLUMNS = ShownMovement.keyof().options;

export const StatementParams = z.strictObject({ ...period, ...pageParams(rowKey.id), format: param.format });

export async function sendStatement(
  call: Call,
  user: string,
  { start, end, limit, cursor, format }: z.output<typeof StatementParams>,
  { db, clock, audience }: Pick<AdminServices, 'db' | 'clock'> & { readonly audience: ledger.UsageAudience },
): Promise<void> {
  const range = { start, end, before: cursor?.[0] };
  await snapshot(db, async (tx) => {
    const known = await tx.selectFrom('wallets').select('user_id').where('user_id', '=', user).executeTakeFirst();
    if (!known) throw notFound('user', user);
    if (format === 'csv') {
      const batches = ledger.readStatementPages(tx, user, { ...range, limit: EXPORT_PAGE });
      const cells = (line: ledger.StatementLine) => Object.values(viewOf(line));
      return sendCsv(call, { name: `statement-${user}`, columns: COLUMNS, batches, audience, cells }, clock);
    }
    const lines = await ledger.readStatement(tx, user, { ...range, limit: limit + 1 });
    const { held } = await ledger.readBalance(tx, user);
    sendPage(call, lines, {
      limit,
      more: { currency: 'USD', user, held: formatNanos(held) },
      view: viewOf,
      key: ({ id }) => [id],
    });
  });
}

const viewOf = (line: ledger.StatementLine): ShownMovement => ({
  entry: String(line.id),
  at: line.at.toISOString(),
  kind: line.kind,
  amount: formatNanos(line.nanos),
  balance: formatNanos(line.balance),
  reference: shownReference(line.reference),
  reason: line.reason,
  price: line.priceId === null ? null : String(line.priceId),
});

export const CREDITS_OPERATIONS = {
  'admin.credit': operation({
    body: CreditBody,
    async handle({ call, by, body }, { db }) {
      const kind = body.kind ?? (body.amount > 0n ? 'payment' : 'adjustment');
      const wanted: Booking = { ...body, kind, amount: formatNanos(body.amount) };
      const { isNew, booked } = await db.transaction().execute(async (tx) => {
        const user = await tx.selectFrom('users').select('id').where('id', '=', wanted.user).executeTakeFirst();
        if (!user) throw notFound('user', wanted.user, 'user');
        return addCredit(tx, wanted, body.amount, by);
      });
      const fields = ['user', 'amount', 'kind', 'reason'] as const;
      const differing = fields.find((name) => booked[name] !== wanted[name]);
      if (differing)
        throw failAt(
          'conflict',
          'reference',
          `"${wanted.reference}" is already booked with another ${differing}; use a new reference.`,
        );
      sendJson(call, isNew ? 201 : 200, { object: 'credit', currency: 'USD', ...booked });
    },
  }),
  'admin.balances': operation({
    query: BalancesQuery,
    async handle({ call, query: { user, below, used, ...query } }, { db, clock }) {
      const page = sortedPage('balances', query);
      const { rows, count } = await snapshot(db, (tx) =>
        ledger.walletReports(tx, { user, below, used, ...page, now: clock.now() }),
      );
      sendPage(call, rows, {
        limit: query.limit,
        more: { currency: 'USD', count },
        view: ({ report }) => report,
        key: (row) => sortedKey(row, row.report.user, page.order),
      });
    },
  }),
  'admin.balance': operation({
    async handle({ id: user }, { db, clock }) {
      const { rows } = await snapshot(db, (tx) => ledger.walletReports(tx, { user, limit: 1, now: clock.now() }));
      const [found] = rows;
      if (!found) throw notFound('user', user);
      return { object: 'balance', currency: 'USD', ...found.report };
    },
  }),
  'admin.statement': operation({
    query: StatementParams,
    handle: ({ call, query }, services) =>
      sendStatement(call, call.params.user ?? '', query, { ...services, audience: 'operator' }),
  }),
};
