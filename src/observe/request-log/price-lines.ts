/**
 * The arithmetic of a charge: tokens x rate = amount, multipliers, charge, cost and margin. Amounts are decimal
 * strings.
 */
import type { Selectable } from 'kysely';
import { formatNanos, type Nanos } from '../../core/index.ts';
import * as ledger from '../../ledger/index.ts';
import type { Db, Rows } from '../../platform/db/index.ts';
import type { CallPrice, PricedCall, PriceLine, ProviderBill } from '../../schemas/index.ts';
import type { RequestRow } from './find-requests.ts';

const ONE = 1_000_000n;

/** Nothing is computed anew but the lines: charge and cost are those of the call. */
export async function priceOfRequest(db: Db, row: RequestRow): Promise<CallPrice> {
  const charged = await chargedRequest(db, row);
  const { nanos, cost_nanos: costNanos, price_id: priceId, account_id: accountId, usage } = charged ?? row;
  if (nanos === null || usage === null) return { charge: null, cost: null };
  const used = usage as unknown as Parameters<typeof ledger.costOf>[0];
  const price = await priceById(db, priceId);
  const ratesOf = await otherRates(db, used);
  const sold = price && ledger.costOf(used, ledger.parseRates(price.rates), [ONE, ONE], ratesOf('rates'));
  const charge = pricedCall(sold, { priceId, groupPpm: row.group_ppm, userPpm: row.user_ppm, nanos });
  if (costNanos === null || !price?.cost) return { charge, cost: null };
  const account =
    accountId === null
      ? undefined
      : await db.selectFrom('accounts').select('cost_multiplier_ppm').where('id', '=', accountId).executeTakeFirst();
  const rates = ledger.parseCost(price.cost);
  const ppm = account?.cost_multiplier_ppm;
  const isSame = ppm !== undefined && ledger.costOf(used, rates, [ppm], ratesOf('cost')).nanos === costNanos;
  const billed = ledger.costOf(used, rates, [ONE], ratesOf('cost'));
  return { charge, cost: providerBill(billed, { ppm: isSame ? ppm : null, costNanos, nanos }) };
}

async function otherRates(db: Db, { models = [] }: Parameters<typeof ledger.costOf>[0]) {
  const ids = models.flatMap(({ price }) => (price === undefined ? [] : [BigInt(price)]));
  const rows =
    ids.length === 0
      ? []
      : await db.selectFrom('prices').select(['id', 'rates', 'cost']).where('id', 'in', ids).execute();
  const prices = new Map(rows.map((row) => [String(row.id), row]));
  return (kind: 'rates' | 'cost') => (id: string) => {
    const rates = prices.get(id)?.[kind];
    return rates ? ledger.parseRates(rates) : undefined;
  };
}

/**
 * The charge of a usage record. Its row of the request log has the multipliers; without one, they are not known any
 * more.
 */
export async function chargeOfRecord(db: Db, record: UsageRow, row: RequestRow | undefined): Promise<PricedCall> {
  const { nanos, price_id: priceId } = record;
  const price = await priceById(db, priceId);
  const usage = ledger.unpackUsage(record);
  const sold =
    price && ledger.costOf(usage, ledger.parseRates(price.rates), [ONE, ONE], (await otherRates(db, usage))('rates'));
  return pricedCall(sold, { priceId, groupPpm: row?.group_ppm ?? null, userPpm: row?.user_ppm ?? null, nanos });
}

type UsageRow = Selectable<Rows['usage_records']>;

const priceById = async (db: Db, id: bigint | null) =>
  id === null ? undefined : db.selectFrom('prices').select(['rates', 'cost']).where('id', '=', id).executeTakeFirst();

interface Charged extends Readonly<Record<'priceId' | 'groupPpm' | 'userPpm', bigint | null>> {
  readonly nanos: Nanos;
}

/** `sold` is the usage at the price, before multipliers. */
export const pricedCall = (sold: ledger.Cost | undefined, charged: Charged): PricedCall => ({
  price: charged.priceId === null ? null : String(charged.priceId),
  tier: sold?.tier ?? null,
  ...workOf(sold),
  group_multiplier: factor(charged.groupPpm),
  user_multiplier: factor(charged.userPpm),
  charge: formatNanos(charged.nanos),
});

interface Billed {
  readonly ppm: bigint | null;
  readonly costNanos: Nanos;
  readonly nanos: Nanos;
}

/** `billed` is the usage at the rates of the provider, before the multiplier of the account. */
export function providerBill(billed: ledger.Cost, { ppm, costNanos, nanos }: Billed): ProviderBill {
  const margin = nanos - costNanos;
  return {
    ...workOf(billed),
    multiplier: factor(ppm),
    cost: formatNanos(costNanos),
    margin: formatNanos(margin),
    margin_percent: nanos === 0n ? null : percentOf(margin, nanos),
  };
}

type ChargedRequest = Pick<RequestRow, 'nanos' | 'cost_nanos' | 'price_id' | 'account_id' | 'usage' | 'estimated'>;

/**
 * The charge of a call; that of a background response came after its response, and is in a usage record of the same
 * user.
 */
export async function chargedRequest(db: Db, row: RequestRow): Promise<ChargedRequest | undefined> {
  if (row.nanos !== null) return row;
  const record = await db
    .selectFrom('usage_records')
    .select(['nanos', 'cost_nanos', 'price_id', 'account_id', 'estimated', ...ledger.USAGE_COLUMNS])
    .where(ledger.isOfRequest(row.id))
    .where('user_id', '=', row.user_id)
    .where('fault', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return record && { ...record, usage: ledger.unpackUsage(record) as unknown as ChargedRequest['usage'] };
}

/** What a rate is for; million tokens where it is not named. */
const UNITS: Partial<Record<ledger.CostPart, PriceLine['per']>> = {
  search: 'piece',
  file_search: 'piece',
  fetch: 'piece',
  request: 'piece',
  image: 'piece',
  audio_second: 'hour',
};

function workOf({ above, lines }: Pick<ledger.Cost, 'above' | 'lines'> = { lines: [] }) {
  return {
    above: above === undefined ? null : Number(above),
    lines: lines.map(({ part, count, rate, femtoDollars }): PriceLine => {
      const per = UNITS[part] ?? 'million_tokens';
      return { part, count: Number(count), rate: formatNanos(rate), per, amount: exact(femtoDollars) };
    }),
    subtotal: exact(lines.reduce((sum, { femtoDollars }) => sum + femtoDollars, 0n)),
  };
}

/** Millionths of a nano-dollar as dollars, with every digit. */
function exact(femtoDollars: bigint): string {
  const digits = femtoDollars.toString().padStart(16, '0');
  const fraction = digits.slice(-15).replace(/0+$/, '');
  return `${digits.slice(0, -15)}${fraction === '' ? '' : `.${fraction}`}`;
}

const factor = (ppm: bigint | null): string | null => (ppm === null ? null : formatNanos(ppm * 1000n));
const percentOf = (part: Nanos, whole: Nanos): number => Number((part * 10_000n) / whole) / 100;
