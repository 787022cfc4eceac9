/** The money of work that outlives its call: held with its row before anything is sent, together or not at all. */
import { sql } from 'kysely';
import { type Nanos, overloaded } from '../../core/index.ts';
import { hold, holdOnceCovered, InsufficientBalance } from '../../ledger/index.ts';
import type { Db, Tx } from '../../platform/db/index.ts';
import type { Billing, Quote } from '../billing/admission.ts';
import type { Caller } from '../caller.ts';
import type { BackgroundInput } from '../native/native-request.ts';
import type { BackgroundServices, OtherOfRow } from './settle.ts';

/** The provider has a day to finish; the ledger check reports a hold that is open an hour later. */
const HOLD_HOURS = 25;

/**
 * Holds the maximum cost, because the response outlives its call,
 * in one transaction with `insert`. Returns the reference.
 */
export async function holdMaximum(
  services: BackgroundServices,
  input: BackgroundInput,
  insert: (tx: Tx, row: ReturnType<typeof rowOf>) => Promise<void>,
): Promise<string> {
  const { caller, billing, facts } = input;
  const quote = billing.quote(caller, facts);
  const row = rowOf(input, quote);
  const { reference } = row;
  return billing.advised(caller, facts, async () => {
    const held = { caller, nanos: quote.maxCost, reference, hours: HOLD_HOURS };
    await holdWith({ ...services, billing }, held, (tx) => insert(tx, row));
    return reference;
  });
}

interface Held {
  readonly caller: Caller;
  readonly nanos: Nanos;
  readonly reference: string;
  /** After which the ledger check reports it. */
  readonly hours: number;
}

/** Rejects when the balance or a spend limit does not cover the amount. */
export async function holdWith(
  services: Pick<BackgroundServices, 'db' | 'clock'> & { readonly billing: Billing },
  { caller, nanos, reference, hours }: Held,
  insert: (tx: Tx) => Promise<void>,
): Promise<void> {
  const { db, clock, billing } = services;
  const { userId } = caller.key;
  const refusal = (available: bigint) => new InsufficientBalance(available);
  await billing.checkSpend(caller, (await openNanos(db, userId)) + nanos);
  // A balance that is short may be leased to servers that do not use it; they return it when they are asked.
  await holdOnceCovered(services, { userId, nanos, reference, refusal }, () =>
    db.transaction().execute(async (tx) => {
      await sql`set local lock_timeout = '2s'`.execute(tx);
      const checkAfter = new Date(clock.now() + hours * 3_600_000);
      const outcome = await hold(tx, { userId, nanos, reference, checkAfter }).catch(onLockTimeout);
      if (outcome !== 'held') return 'short';
      await insert(tx);
      return outcome;
    }),
  );
}

/** What open work of the user may cost. It counts as spent until it ends. */
async function openNanos(db: Db, userId: string): Promise<bigint> {
  const { rows } = await sql<{ nanos: bigint }>`
    select coalesce(sum(nanos), 0)::bigint as nanos from holds
    where user_id = ${userId} and state in ('held', 'review') and reference ~ '^(background|batch):'`.execute(db);
  return BigInt(rows[0]?.nanos ?? 0);
}

const rowOf = ({ caller: { key, group }, call, facts, inputTokens }: BackgroundInput, quote: Quote) => ({
  reference: `background:${call.id}`,
  user_id: key.userId,
  key_id: key.id,
  group_id: group.id,
  model: facts.model.name,
  request_id: call.id,
  input_tokens: BigInt(inputTokens),
  price_id: quote.priceId,
  tier: quote.tier?.tier ?? null,
  others: JSON.stringify(
    quote.others.map(
      ({ path, tool, model, priceId }): OtherOfRow => ({ path, tool, name: model.name, price: String(priceId ?? '') }),
    ),
  ),
});

const LOCK_NOT_AVAILABLE = '55P03';

function onLockTimeout(error: Error & { readonly code?: string }): never {
  if (error.code !== LOCK_NOT_AVAILABLE) throw error;
  throw overloaded('The balance is in use by other requests. Nothing was sent; try again shortly.', 2);
}
