/**
 * Provider costs: what recorded calls cost the operator,
 * by the cost rates of their price and the multiplier of their account.
 */
import { errorFields, type Log, type Nanos } from '../../core/index.ts';
import { type Db, prepare } from '../../platform/db/index.ts';
import { VIDEO_RATE_NAMES } from '../../schemas/index.ts';
import { MAX_COST, type UsageRecord } from '../usage-record.ts';
import { parseCost, type Rates } from './parse-rates.ts';
import { costOf } from './rates.ts';

export type CostedCall = Pick<UsageRecord, 'priceId' | 'accountId' | 'usage'>;

/** Call -> its cost. The cost of an absent call is unknown. */
export type ProviderCosts<C extends CostedCall = UsageRecord> = ReadonlyMap<C, Nanos>;

/**
 * Two lookups by primary key for a whole batch. Never blocks recording: a cost that cannot be computed is unknown.
 * `parse`: `parseRates` for requests in batches of the provider.
 */
export async function providerCosts<C extends CostedCall>(
  db: Db,
  records: readonly C[],
  log: Log,
  parse = parseCost,
): Promise<ProviderCosts<C>> {
  const priceIds = [...pricesOf(records)];
  if (priceIds.length === 0) return new Map();
  const prices = await selectCosts(db, [priceIds]);
  if (prices.length === 0) return new Map();
  const rates = new Map(prices.map(({ id, cost }) => [id, ratesOf(parse, { id, cost }, log)]));
  const accounts = await selectMultipliers(db, []);
  const multipliers = new Map(accounts.map((row) => [row.id, row.cost_multiplier_ppm]));
  return new Map(
    records.flatMap((record): [C, Nanos][] => {
      const costRates = record.priceId === null ? undefined : rates.get(record.priceId);
      const multiplier = multipliers.get(record.accountId);
      // The multiplier of a deleted account is unknown.
      if (!costRates || multiplier === undefined) return [];
      // So is the cost of another model whose price has none.
      if (otherPrices(record.usage).some((id) => !rates.get(id))) return [];
      const { nanos } = costOf(record.usage, costRates, [multiplier], (id) => rates.get(BigInt(id)));
      return nanos > MAX_COST ? [] : [[record, nanos]];
    }),
  );
}

function pricesOf(records: readonly CostedCall[]): ReadonlySet<bigint> {
  const ids = new Set<bigint>();
  for (const { priceId, usage } of records) {
    if (priceId !== null) ids.add(priceId);
    for (const other of otherPrices(usage)) ids.add(other);
  }
  return ids;
}

const otherPrices = ({ models = [] }: CostedCall['usage']): bigint[] =>
  models.flatMap(({ price }) => (price === undefined ? [] : [BigInt(price)]));

interface StoredCost {
  readonly id: bigint;
  readonly cost: unknown;
}

const selectCosts = prepare<StoredCost>(
  'price_costs',
  'select id, cost from prices where id = any($1) and cost is not null',
);
const selectMultipliers = prepare<{ id: string; cost_multiplier_ppm: bigint }>(
  'account_multipliers',
  'select id, cost_multiplier_ppm from accounts',
);

/** Undefined for video rates: they depend on a resolution that records do not hold. */
function ratesOf(parse: typeof parseCost, { id, cost }: StoredCost, log: Log): Rates | undefined {
  try {
    const rates = parse(cost);
    return VIDEO_RATE_NAMES.some((name) => name in (cost as object)) ? undefined : rates;
  } catch (error) {
    log.error('provider_cost.invalid', { price: String(id), ...errorFields(error) });
    return undefined;
  }
}
