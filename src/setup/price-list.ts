/**
 * Reader of the public price list, with exact decimals. Never guesses: a model whose price our rates cannot express is skipped with a
 * reason, or taken with a remark when every token is still billed correctly.
 */
import type { ModelInfo, ModelPrice } from '@pydantic/genai-prices';
import { formatNanos, type Nanos, parseNanos } from '../core/index.ts';

/** Decimal dollars by rate name, as in the configuration. */
export type ListedRates = Readonly<Record<string, string>>;

/** Rates that are valid from a time on; from now on when `from` is absent. */
export interface ListedWindow {
  readonly from?: string;
  readonly rates: ListedRates;
}

export type ListedPrice =
  | { readonly windows: readonly ListedWindow[]; readonly remarks: readonly string[] }
  | { skip: string };

export interface PriceListOptions {
  readonly now: number;
  /** Context window of the model in tokens, if configured. */
  readonly context?: number | undefined;
  /** Which tier to take when the price depends on the length of the input; the operator decides. */
  readonly tiers?: TierChoice | undefined;
}
export type TierChoice = (typeof TIER_CHOICES)[number];
export const TIER_CHOICES = ['base', 'highest'] as const;

/** Prices per million tokens in the list, and our names of the rates. */
const TOKEN_RATES: Readonly<Record<string, string>> = {
  input_mtok: 'input',
  cache_read_mtok: 'cached_input',
  cache_write_mtok: 'cache_write',
  cache_write_1h_mtok: 'cache_write_1h',
  output_mtok: 'output',
  output_reasoning_mtok: 'reasoning',
  input_audio_mtok: 'audio_input',
  output_audio_mtok: 'audio_output',
  input_image_mtok: 'image_input',
  output_image_mtok: 'image_output',
};
const SEARCHES = 'web_searches_kcount';

/** Prices that the gateway does not bill; the other rates stay correct without them. */
const REMARKS: Readonly<Record<string, string>> = {
  storage_searches_kcount: 'searches in stored files are not metered and cost callers nothing',
  cache_audio_read_mtok: 'cached audio is billed as cached_input: no provider reports it separately',
  cache_image_read_mtok: 'cached images are billed as cached_input: no provider reports them separately',
};

const DECIMALS = 9;

export function listedPrice(model: ModelInfo, options: PriceListOptions): ListedPrice {
  const { prices } = model;
  if (!Array.isArray(prices)) return windowsOf([{ prices }], options);
  if (prices.some(({ constraint }) => constraint?.type === 'time_of_date'))
    return { skip: 'its price depends on the time of day' };
  const starts = prices.flatMap(({ constraint }) => (constraint?.type === 'start_date' ? [constraint.start_date] : []));
  const later = starts.filter((start) => Date.parse(start) > options.now).sort();
  // The last entry that has started applies, as in the reader of the package.
  const at = (time: number): ModelPrice =>
    prices.findLast(({ constraint }) => constraint?.type !== 'start_date' || Date.parse(constraint.start_date) <= time)
      ?.prices ?? {};
  return windowsOf(
    [
      { prices: at(options.now) },
      ...later.map((start) => ({ from: new Date(start).toISOString(), prices: at(Date.parse(start)) })),
    ],
    options,
  );
}

function windowsOf(
  list: readonly { readonly from?: string; readonly prices: ModelPrice }[],
  options: PriceListOptions,
): ListedPrice {
  const windows: ListedWindow[] = [];
  const remarks = new Set<string>();
  for (const { from, prices } of list) {
    const read = ratesOf(prices, options);
    if ('skip' in read) return from === undefined ? read : { skip: `from ${from.slice(0, 10)} on, ${read.skip}` };
    for (const remark of read.remarks) remarks.add(remark);
    windows.push({ ...(from !== undefined && { from }), rates: read.rates });
  }
  return { windows, remarks: [...remarks] };
}

function ratesOf(
  prices: ModelPrice,
  options: PriceListOptions,
): { rates: ListedRates; remarks: string[] } | { skip: string } {
  const rates: Record<string, string> = {};
  const remarks: string[] = [];
  for (const [name, price] of Object.entries(prices)) {
    if (price === undefined) continue;
    if (name in REMARKS) {
      remarks.push(REMARKS[name] ?? '');
      continue;
    }
    const rate = name === SEARCHES ? 'per_search' : TOKEN_RATES[name];
    if (rate === undefined) return { skip: `it has a price (${name}) for something that is not metered` };
    const flat = typeof price === 'number' ? { number: price } : flattenTiers(price, options);
    if ('skip' in flat) return flat;
    if ('remark' in flat && flat.remark) remarks.push(flat.remark);
    const text = decimalOf(flat.number, name === SEARCHES ? 3 : 0);
    if (parseNanos(text) === undefined)
      return { skip: `its ${rate} price ${text} has more than ${DECIMALS} decimal places` };
    rates[rate] = text;
  }
  if (Object.keys(rates).length === 0) return { skip: 'the list gives no price for it' };
  return { rates, remarks };
}

/**
 * One number for a price that changes for the whole request when its input is longer than `start`. The base price applies if the
 * configured context is not longer. The context window of the list is ignored, because it contradicts the tiers.
 */
function flattenTiers(
  { base, tiers }: { readonly base: number; readonly tiers: readonly { start: number; price: number }[] },
  { context, tiers: choice }: PriceListOptions,
): { number: number; remark?: string } | { skip: string } {
  const start = Math.min(...tiers.map((tier) => tier.start));
  if (context !== undefined && context <= start) return { number: base };
  if (choice === 'base') return { number: base, remark: `inputs above ${start} tokens cost more than this` };
  if (choice === 'highest')
    return {
      number: Math.max(base, ...tiers.map((tier) => tier.price)),
      remark: `inputs of up to ${start} tokens cost less than this`,
    };
  return {
    skip: `its price depends on the length of the input (it differs above ${start} tokens); choose with --tiers, or give the model a context of at most ${start}`,
  };
}

/** The shortest decimal text of the number, with the point moved left by `places`. Works on text, because float arithmetic is inexact. */
export function decimalOf(number: number, places = 0): string {
  const [digits = '', exponent = '0'] = String(number).split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  const shift = Number(exponent) - places;
  const all = `${whole}${fraction}`.padStart(1 - shift + fraction.length, '0');
  // Index of the decimal point in `all`.
  const point = all.length - fraction.length + shift;
  const left = all
    .slice(0, Math.max(point, 0))
    .padEnd(point, '0')
    .replace(/^0+(?=\d)/, '');
  const right = all.slice(Math.max(point, 0)).replace(/0+$/, '');
  return `${left || '0'}${right && `.${right}`}`;
}

/** Skips the model when a product is not exact. */
export function multiplyRates(rates: ListedRates, ppm: bigint): ListedRates | { skip: string } {
  const out: Record<string, string> = {};
  for (const [name, text] of Object.entries(rates)) {
    const product: Nanos = (parseNanos(text) ?? 0n) * ppm;
    if (product % 1_000_000n !== 0n)
      return { skip: `its ${name} price ${text} times the multiplier is finer than 10^-9` };
    out[name] = formatNanos(product / 1_000_000n);
  }
  return out;
}
