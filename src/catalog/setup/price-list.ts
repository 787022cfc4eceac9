/**
 * Reader of the public price list, with exact decimals. A remark says where a price is not exactly that of the list.
 */
import type { ModelInfo, ModelPrice } from '@pydantic/genai-prices';
import * as listed from './listed-rates.ts';

/** Our names of the rates by those of the list. */
const RATES: Readonly<Record<string, string>> = {
  input_mtok: 'input',
  cache_read_mtok: 'cached_input',
  cache_audio_read_mtok: 'cached_audio_input',
  cache_image_read_mtok: 'cached_image_input',
  cache_write_mtok: 'cache_write',
  cache_write_1h_mtok: 'cache_write_1h',
  output_mtok: 'output',
  output_reasoning_mtok: 'reasoning',
  output_citation_mtok: 'citation',
  input_audio_mtok: 'audio_input',
  output_audio_mtok: 'audio_output',
  input_image_mtok: 'image_input',
  output_image_mtok: 'image_output',
  input_video_mtok: 'video_input',
  output_video_mtok: 'video_output',
  web_searches_kcount: 'per_search',
  storage_searches_kcount: 'per_file_search',
  requests_kcount: 'per_request',
  audio_hours: 'per_audio_hour',
  input_audio_hours: 'per_audio_hour',
};
/** Decimal places between a price of the list and one of ours. */
const placesOf = (name: string): number => (name.endsWith('_kcount') ? 3 : 0);

/** `now` decides which of several start dates is in force. */
export function listedPrice(model: ModelInfo, now: number): listed.ListedPrice {
  const { prices } = model;
  if (!Array.isArray(prices)) return windowsOf([{ prices }]);
  const daily = prices.flatMap((entry) => (entry.constraint?.type === 'time_of_date' ? [entry.prices] : []));
  const dated = prices.flatMap(({ constraint, prices: own }) =>
    constraint?.type === 'time_of_date' ? [] : [{ start: Date.parse(constraint?.start_date ?? EVER), prices: own }],
  );
  // The last entry that has started applies, as in the reader of the package.
  const at = (time: number): ModelPrice => dated.findLast(({ start }) => start <= time)?.prices ?? {};
  const later = dated.flatMap(({ start }) => (start > now ? [start] : [])).sort((a, b) => a - b);
  const read = windowsOf([
    { prices: dearest([at(now), ...daily]) },
    ...later.map((start) => ({ from: new Date(start).toISOString(), prices: dearest([at(start), ...daily]) })),
  ]);
  if ('skip' in read || daily.length === 0) return read;
  const remark = 'the provider charges less at some times of the day; imported is its highest price';
  return { ...read, remarks: [...read.remarks, remark] };
}

const EVER = '1970-01-01';

/** The highest of each rate. A price by length has no second one by the time of day. */
function dearest(all: readonly ModelPrice[]): ModelPrice {
  const top: ModelPrice = {};
  for (const [name, price] of all.flatMap((prices) => Object.entries(prices)))
    if (!(Number(top[name] ?? -1) >= Number(price))) top[name] = price;
  return top;
}

function windowsOf(list: readonly { readonly from?: string; readonly prices: ModelPrice }[]): listed.ListedPrice {
  const windows: listed.ListedWindow[] = [];
  const remarks = new Set<string>();
  for (const { from, prices } of list) {
    const read = ratesOf(prices);
    if ('skip' in read) return from === undefined ? read : { skip: `from ${from.slice(0, 10)} on, ${read.skip}` };
    for (const remark of read.remarks) remarks.add(remark);
    windows.push({ ...(from !== undefined && { from }), rates: read.rates });
  }
  return { windows, remarks: [...remarks] };
}

function ratesOf(prices: ModelPrice): { rates: listed.ListedRates; remarks: readonly string[] } | { skip: string } {
  const entries = Object.entries(prices).filter((entry) => entry[1] !== undefined);
  const unserved = entries.find(([name]) => !Object.hasOwn(RATES, name));
  if (unserved) return { skip: `it has a price (${unserved[0]}) for something that no endpoint of the gateway does` };
  if (entries.length === 0) return { skip: 'the list gives no price for it' };
  const rounded = new Set<string>();
  const ratesAbove = (above: number) =>
    Object.fromEntries(
      entries.flatMap(([name, price]): [string, string][] => {
        // A price without steps counts from zero on.
        if (typeof price !== 'object' && above > 0) return [];
        const number = typeof price === 'object' ? stepAt(price, above) : price;
        if (number === undefined) return [];
        const decimal = listed.decimalOf(number, placesOf(name));
        const amount = listed.amountOf(decimal);
        if (amount !== decimal) rounded.add(`${RATES[name]} ${decimal} is rounded up to ${amount}`);
        return [[RATES[name] ?? '', amount]];
      }),
    );
  const starts = new Set(entries.flatMap(([, price]) => (typeof price === 'object' ? startsOf(price) : [])));
  const steps = [...starts].sort((a, b) => a - b).map((above) => ({ above, ...ratesAbove(above) }));
  const { rates, remarks } = listed.withOutput({ ...ratesAbove(0), ...(steps.length > 0 && { steps }) });
  return { rates, remarks: [...remarks, ...rounded] };
}

type Stepped = Exclude<ModelPrice[string], number | undefined>;
const startsOf = ({ tiers }: Stepped): readonly number[] => tiers.map(({ start }) => start);
const stepAt = ({ base, tiers }: Stepped, above: number): number =>
  tiers.filter(({ start }) => start <= above).sort((a, b) => b.start - a.start)[0]?.price ?? base;
