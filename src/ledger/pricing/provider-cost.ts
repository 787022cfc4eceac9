/** What recorded calls cost the operator: the provider's rates in the row of the price, and the share that the account pays. */
import { errorFields, type Log, type Nanos } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import { MAX_COST, type UsageRecord } from '../usage-record.ts';
import { costOf, parseRates, type Rates } from './rates.ts';

/** Record -> its cost; a record that is absent has a cost that nobody knows. */
export type Costs = ReadonlyMap<UsageRecord, Nanos>;

/** Two look-ups by primary key for a whole batch. Never keeps a record from being booked: what cannot be read is not known. */
export async function upstreamCosts(db: Db, records: readonly UsageRecord[], log: Log): Promise<Costs> {
  const priceIds = [...new Set(records.flatMap(({ priceId }) => priceId ?? []))];
  if (priceIds.length === 0) return new Map();
  const prices = await db
    .selectFrom('prices')
    .select(['id', 'cost'])
    .where('id', 'in', priceIds)
    .where('cost', 'is not', null)
    .execute();
  if (prices.length === 0) return new Map();
  const rates = new Map(prices.map(({ id, cost }) => [id, ratesOf(id, cost, log)]));
  const accounts = await db.selectFrom('accounts').select(['id', 'cost_multiplier_ppm']).execute();
  const multipliers = new Map(accounts.map((row) => [row.id, row.cost_multiplier_ppm]));
  return new Map(
    records.flatMap((record): [UsageRecord, Nanos][] => {
      const own = record.priceId === null ? undefined : rates.get(record.priceId);
      const multiplier = multipliers.get(record.accountId);
      // An account that is gone has taken its terms with it.
      if (!own || multiplier === undefined) return [];
      const { nanos } = costOf(record.usage, own, [multiplier]);
      return nanos > MAX_COST ? [] : [[record, nanos]];
    }),
  );
}

/** Videos are priced by a resolution that records do not hold: their cost cannot be told from one. */
function ratesOf(priceId: bigint, stored: unknown, log: Log): Rates | undefined {
  try {
    const rates = parseRates(stored);
    return rates.video === undefined && rates.videoWithVideoInput === undefined ? rates : undefined;
  } catch (error) {
    log.error('provider_cost.invalid', { price: String(priceId), ...errorFields(error) });
    return undefined;
  }
}
