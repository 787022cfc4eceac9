/** Money booked by an operator, once by its reference: the entry and its line of the audit in one transaction. */
import type { Transaction } from 'kysely';
import { z } from 'zod';
import { fail, formatNanos } from '../core/index.ts';
import type { Rows } from '../db/index.ts';
import { writeAudit } from '../identity/index.ts';
import { charge, credit, type HouseAccount } from '../ledger/index.ts';
import { sendJson } from '../web/index.ts';
import { type AdminHandler, notFound } from './handler.ts';
import { amount, line, readJson } from './request-body.ts';

const KINDS = ['payment', 'refund', 'adjustment'] as const;
type Kind = (typeof KINDS)[number];
const HOUSE: Readonly<Record<Kind, HouseAccount>> = {
  payment: '@funding',
  refund: '@revenue',
  adjustment: '@adjustment',
};

const Credit = z
  .strictObject({
    user: z.string().min(1).max(64),
    amount: amount((nanos) => nanos !== 0n, 'a decimal amount in quotes that is not zero, for example "12.50"'),
    kind: z.enum(KINDS).optional(),
    reason: line(500),
    reference: line(200),
  })
  .refine(({ amount, kind }) => amount > 0n || kind === undefined || kind === 'adjustment', {
    path: ['amount'],
    error: 'an amount above zero for a payment or a refund',
  });

/** Apart from the references that the ledger gives itself. */
const PREFIX = 'credit:';
export const shownReference = (reference: string): string =>
  reference.startsWith(PREFIX) ? reference.slice(PREFIX.length) : reference;

interface Booking {
  readonly user: string;
  readonly amount: string;
  readonly kind: Kind;
  readonly reason: string;
  readonly reference: string;
}

export const bookCredit: AdminHandler = async ({ call, by }, { db }) => {
  const given = await readJson(call, Credit);
  const wish: Booking = {
    user: given.user,
    amount: formatNanos(given.amount),
    kind: given.kind ?? (given.amount > 0n ? 'payment' : 'adjustment'),
    reason: given.reason,
    reference: given.reference,
  };
  const { isNew, booked } = await db.transaction().execute(async (tx) => {
    const user = await tx.selectFrom('users').select('id').where('id', '=', wish.user).executeTakeFirst();
    if (!user) throw notFound('user', wish.user, 'user');
    const isNew = await book(tx, wish, given.amount);
    const booked = await readBooking(tx, wish.reference);
    if (isNew) await writeAudit(tx, by, { action: 'credit.booked', subject: `user:${wish.user}`, after: booked });
    return { isNew, booked };
  });
  const names = ['user', 'amount', 'kind', 'reason'] as const;
  const differs = names.find((name) => booked[name] !== wish[name]);
  if (differs)
    throw fail('conflict', `reference: "${wish.reference}" was booked before with another ${differs}.`, {
      param: 'reference',
    });
  sendJson(call, isNew ? 201 : 200, { object: 'credit', currency: 'USD', ...booked });
};

function book(tx: Transaction<Rows>, { user, kind, reason, reference }: Booking, nanos: bigint): Promise<boolean> {
  const movement = { userId: user, reason, reference: PREFIX + reference };
  return nanos > 0n
    ? credit(tx, { ...movement, nanos, from: HOUSE[kind] })
    : charge(tx, { ...movement, nanos: -nanos, to: '@adjustment' });
}

/** As the ledger has it, whoever booked it: two who come at the same moment are told the same. */
async function readBooking(
  tx: Transaction<Rows>,
  reference: string,
): Promise<Booking & { readonly entry: string; readonly at: string }> {
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
    kind: KINDS.find((kind) => HOUSE[kind] === house) ?? 'adjustment',
    reason: row.reason,
    reference,
    at: row.created_at.toISOString(),
  };
}
