/** Credits, refunds and adjustments. A reference is booked once; the entry and its audit line are one transaction. */
import { z } from 'zod';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { failAt, formatNanos } from '../../core/index.ts';
import { charge, credit, type HouseAccount } from '../../ledger/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { CREDIT_KINDS, type CreditKind, line, type ShownCredit } from '../../schemas/index.ts';
import { notFound, operation } from './handler.ts';
import { amount, reason } from './request-body.ts';

const HOUSE: Readonly<Record<CreditKind, HouseAccount>> = {
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
export const shownReference = (reference: string): string =>
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
    ? credit(tx, { ...movement, nanos, from: HOUSE[kind] })
    : charge(tx, { ...movement, nanos: -nanos, to: '@adjustment' });
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

export const CREDITS_OPERATIONS = {
  'admin.credit': operation({
    body: CreditBody,
    async handle({ call, by, body }, { db }) {
      const wanted: Booking = {
        user: body.user,
        amount: formatNanos(body.amount),
        kind: body.kind ?? (body.amount > 0n ? 'payment' : 'adjustment'),
        reason: body.reason,
        reference: body.reference,
      };
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
};
