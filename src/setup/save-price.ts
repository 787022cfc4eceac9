/** Prices of models. Never edited: a different one is a new row, and charges keep naming the old one. */
import { sql, type Transaction } from 'kysely';
import type { Rows } from '../db/index.ts';

export interface PriceInput {
  /** Decimal strings, as a configuration says them. A half that is absent stays as it is. */
  readonly rates?: object | undefined;
  /** What the provider takes. */
  readonly cost?: object | undefined;
  /** When it comes into force: a time that is over means now, and absent does too. */
  readonly validFrom?: string | undefined;
}

/**
 * Compared with the price that would be in force at that time otherwise: one that is announced for later is neither touched nor
 * taken for the present one. False when there is nothing to write.
 */
export async function savePrice(tx: Transaction<Rows>, modelId: bigint, wish: PriceInput): Promise<boolean> {
  const rates = wish.rates && JSON.stringify(wish.rates);
  const cost = wish.cost && JSON.stringify(wish.cost);
  const from = sql<Date>`greatest(${wish.validFrom ?? null}::timestamptz, now())`;
  const before = await tx
    .selectFrom('prices')
    .select(['rates', 'cost'])
    .select(sql<boolean>`rates = coalesce(${rates ?? null}::jsonb, rates)`.as('sameRates'))
    .select(sql<boolean>`cost is not distinct from coalesce(${cost ?? null}::jsonb, cost)`.as('sameCost'))
    .where('model_id', '=', modelId)
    .where('valid_from', '<=', from)
    .orderBy('valid_from', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (before?.sameRates && before.sameCost) return false;
  await tx
    .insertInto('prices')
    .values({
      model_id: modelId,
      rates: rates ?? JSON.stringify(before?.rates ?? {}),
      cost: cost ?? (before?.cost ? JSON.stringify(before.cost) : null),
      // The first price of a model may say when it really began; after that, the past is what was charged.
      valid_from: before ? from : (wish.validFrom ?? sql`now()`),
    })
    .execute();
  return true;
}
