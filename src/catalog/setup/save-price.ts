/**
 * Writer of model prices. A price row is never changed, because charges refer to it; a different price is a new row.
 */
import { sql } from 'kysely';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import type { Db, Tx } from '../../platform/db/index.ts';

export interface PricedLine {
  readonly id: bigint;
  readonly group: string;
  readonly model: string;
}

/** The subject of audit lines. The id of a group has no slash. */
export const modelSubject = ({ group, model }: Omit<PricedLine, 'id'>): string => `model:${group}/${model}`;

export interface PriceInput {
  /** Decimal strings, as in the configuration. An absent half (rates or cost) keeps its value. */
  readonly rates?: object | undefined;
  readonly cost?: object | undefined;
  /** Start of validity. Absent, or in the past, means now. */
  readonly validFrom?: string | undefined;
}

const startOf = (validFrom: string | undefined) => sql<Date>`greatest(${validFrom ?? null}::timestamptz, now())`;

/** The price of the model in force at `validFrom`, at most one. */
export const priceFrom = (db: Db, id: bigint, validFrom: string | undefined) =>
  db
    .selectFrom('prices')
    .select(['id', 'rates', 'cost'])
    .where('model_id', '=', id)
    .where('valid_from', '<=', startOf(validFrom))
    .orderBy('valid_from', 'desc')
    .orderBy('id', 'desc')
    .limit(1);

/**
 * Inserts the price, with its audit line, unless it equals the one valid at `validFrom`; true when it did. Later prices
 * do not count.
 */
export async function savePrice(tx: Tx, line: PricedLine, input: PriceInput, by: Actor): Promise<boolean> {
  const rates = input.rates && JSON.stringify(input.rates);
  const cost = input.cost && JSON.stringify(input.cost);
  const before = await priceFrom(tx, line.id, input.validFrom)
    .select(sql<boolean>`rates = coalesce(${rates ?? null}::jsonb, rates)`.as('sameRates'))
    .select(sql<boolean>`cost is not distinct from coalesce(${cost ?? null}::jsonb, cost)`.as('sameCost'))
    .executeTakeFirst();
  if (before?.sameRates && before.sameCost) return false;
  if (!before && cost === undefined && rates === '{}') return false;
  const saved = await tx
    .insertInto('prices')
    .values({
      model_id: line.id,
      rates: rates ?? JSON.stringify(before?.rates ?? {}),
      cost: cost ?? (before?.cost ? JSON.stringify(before.cost) : null),
      // Only the first price of a model may start in the past: later, calls were already charged by the earlier price.
      valid_from: before ? startOf(input.validFrom) : (input.validFrom ?? sql`now()`),
    })
    .returning(['id', 'rates', 'cost', 'valid_from'])
    .executeTakeFirstOrThrow();
  await writeAudit(tx, by, {
    action: 'price.changed',
    subject: modelSubject(line),
    ...(before && { before: { price: String(before.id), prices: before.rates, cost: before.cost } }),
    after: {
      price: String(saved.id),
      prices: saved.rates,
      cost: saved.cost,
      ...(input.validFrom !== undefined && { valid_from: saved.valid_from }),
    },
  });
  return true;
}
