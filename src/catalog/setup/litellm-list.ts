/**
 * Reader of price lists of LiteLLM: dollars per token, piece and second. Steps and tiers are endings of a member; sizes
 * are part of a model's name.
 */
import { z } from 'zod';
import { entryOf, isGlob, matchesGlob } from '../../core/index.ts';
import { lacksOutput } from '../../schemas/index.ts';
import * as listed from './listed-rates.ts';

const Entry = z.record(z.string(), z.unknown());
const List = z.record(z.string(), Entry);
type Entry = z.infer<typeof Entry>;
export type LitellmList = z.infer<typeof List>;

export const parseLitellmList = (text: string): LitellmList => List.parse(JSON.parse(text));

const TOKENS: Readonly<Record<string, string>> = {
  input_cost_per_token: 'input',
  input_cost_per_token_cache_hit: 'cached_input',
  cache_read_input_token_cost: 'cached_input',
  cache_read_input_audio_token_cost: 'cached_audio_input',
  cache_read_input_image_token_cost: 'cached_image_input',
  cache_creation_input_token_cost: 'cache_write',
  cache_creation_input_token_cost_above_1hr: 'cache_write_1h',
  input_cost_per_audio_token: 'audio_input',
  input_cost_per_image_token: 'image_input',
  input_cost_per_video_token: 'video_input',
  output_cost_per_token: 'output',
  output_cost_per_reasoning_token: 'reasoning',
  output_cost_per_audio_token: 'audio_output',
  output_cost_per_image_token: 'image_output',
  output_cost_per_video_token: 'video_output',
  citation_cost_per_token: 'citation',
};
const TOKEN_PLACES = -6;
const TIERS: Readonly<Record<string, string>> = { priority: 'priority', flex: 'flex', batches: 'batch' };
const NAME = /^(.+?)(?:_above_(\d+)k_tokens)?(?:_(priority|flex|batches))?$/;

/** Members that have no price of their own here: units that other members price too, and notes. */
const BESIDE = /_dbu_|_per_character|_per_pixel|_audio_token_cost$|per_gb_per_day|_cost_per_session|_per_1k_tokens/;

/** The price of `model`: of its own name, or of the only entries that end in it. `provider` selects among several. */
export function litellmPrice(
  list: LitellmList,
  model: string,
  provider?: string,
): listed.ListedPrice & { source?: string; limits?: listed.ListedLimits } {
  const isOf = (entry: Entry): boolean => provider === undefined || entry.litellm_provider === provider;
  const named = Object.entries(list)
    .filter(([name, entry]) => (isGlob(model) ? matchesGlob(model, name) : name === model) && isOf(entry))
    .map(([name, entry]) => ownEntry(list, name, entry));
  const found =
    named.length > 0
      ? named
      : Object.entries(list).filter(([name, entry]) => name.endsWith(`/${model}`) && isOf(entry));
  const plain = found.filter(([name]) => !SIZE.test(name));
  const images = imagesOf(list, model, isOf);
  const prices = plain.map(([, entry]) => entryPrice(entry, images));
  const [first = entryPrice({}, images), ...others] = prices;
  if (found.length === 0 && images.size === 0) return { skip: 'the price list has no such model' };
  if (others.some((other) => JSON.stringify(other) !== JSON.stringify(first)))
    return {
      skip: `the list has it with different prices (${plain.slice(0, 3).map(([name]) => name)}); choose with --provider`,
    };
  const limits = { context: limitOf(plain, 'max_input_tokens'), maxOutput: limitOf(plain, 'max_output_tokens') };
  return { ...first, source: `litellm/${plain[0]?.[0] ?? model}`, limits };
}

/**
 * A provider's entry may be under its own name, such as `gemini/gemini-exp-1206`; LiteLLM prefers that to one without
 * the provider.
 */
function ownEntry(list: LitellmList, name: string, entry: Entry): readonly [string, Entry] {
  const full = `${entry.litellm_provider}/${name}`;
  const own = list[full];
  const isPriced = own && Object.keys(own).some((member) => Object.hasOwn(TOKENS, member));
  return isPriced && own.litellm_provider === entry.litellm_provider ? [full, own] : [name, entry];
}

/** The largest of all entries, which a pattern may have several of; none when one of them does not say. */
function limitOf(entries: readonly (readonly [string, Entry])[], member: string): number | undefined {
  const limits = entries.map(([, entry]) => entry[member]);
  return limits.length > 0 && limits.every((limit) => Number.isSafeInteger(limit) && Number(limit) > 0)
    ? Math.max(...limits.map(Number))
    : undefined;
}

const SIZE = /(?:^|\/)(\d+)-x-(\d+)\//;

/** Prices of generated images by "size/quality", from entries such as `high/1024-x-1024/gpt-image-1`. */
function imagesOf(list: LitellmList, model: string, isOf: (entry: Entry) => boolean): ReadonlyMap<string, string> {
  const images = new Map<string, string>();
  for (const [name, entry] of Object.entries(list)) {
    const size = SIZE.exec(name);
    if (!size || !name.endsWith(`/${model}`) || !isOf(entry)) continue;
    const [, width = '', height = ''] = size;
    const before = name.slice(0, -model.length - 1).split('/');
    const quality = before.find((part) => /^(?:low|medium|high|standard|hd|auto)$/.test(part));
    const isOwn = before.every((part) => part === quality || `${part}/` === size[0].replace(/^\//, ''));
    const amount = imageAmount(entry, BigInt(width) * BigInt(height));
    if (isOwn && amount !== undefined)
      images.set(`${width}x${height}${quality === undefined ? '' : `/${quality}`}`, amount);
  }
  return images;
}

function imageAmount(entry: Entry, pixels: bigint): string | undefined {
  const perImage = numberOf(entry.output_cost_per_image) ?? numberOf(entry.input_cost_per_image);
  if (perImage !== undefined) return listed.amountOf(listed.decimalOf(perImage));
  const perPixel = numberOf(entry.output_cost_per_pixel) || numberOf(entry.input_cost_per_pixel);
  return perPixel === undefined ? undefined : listed.amountOf(listed.decimalOf(perPixel), pixels);
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : undefined;

/** Rates under construction: those of every call, of a step, or of a tier with its steps. */
interface Draft {
  readonly flat: Record<string, string>;
  readonly steps: Map<number, Record<string, string>>;
}
const newRates = (): Record<string, string> => ({});
const newDraft = (): Draft => ({ flat: {}, steps: new Map() });
const ratesIn = ({ flat, steps }: Draft): listed.ListedRates => ({
  ...flat,
  ...(steps.size > 0 && {
    steps: [...steps].sort(([a], [b]) => a - b).map(([above, rates]) => ({ above, ...rates })),
  }),
});

function entryPrice(entry: Entry, images: ReadonlyMap<string, string>): listed.ListedPrice {
  const standard = newDraft();
  const tiers = new Map<string, Draft>();
  const remarks = new Set<string>();
  for (const [member, value] of Object.entries(entry)) {
    const [, name = '', thousands, ending] = NAME.exec(member) ?? [];
    const rate = TOKENS[name];
    const number = numberOf(value);
    if (rate === undefined || number === undefined) continue;
    const draft = ending === undefined ? standard : entryOf(tiers, TIERS[ending] ?? ending, newDraft);
    const rates = thousands === undefined ? draft.flat : entryOf(draft.steps, Number(thousands) * 1_000, newRates);
    rates[rate] = listed.amountOf(listed.decimalOf(number, TOKEN_PLACES));
  }
  addRanges(standard, entry.tiered_pricing);
  Object.assign(standard.flat, piecesOf(entry));
  for (const member of Object.keys(entry)) if (isUnread(member, entry)) remarks.add(`${member} is not metered`);
  if (isFree(standard)) remarks.add('the list says that it is free');
  // Without a price of output a tier would give it away; that of every call is never too low.
  for (const [tier, { flat }] of tiers)
    if (lacksOutput(flat)) {
      flat.output = standard.flat.output ?? '0';
      remarks.add(`the tier ${tier} has no price of output in the list and gets the one of every call`);
    }
  const perImage = images.size > 0 ? Object.fromEntries(images) : drawnPrice(entry);
  const rates: listed.ListedRates = {
    ...ratesIn(standard),
    ...(tiers.size > 0 && { tiers: Object.fromEntries([...tiers].map(([tier, draft]) => [tier, ratesIn(draft)])) }),
    ...(perImage && { per_image: perImage }),
  };
  if (Object.keys(rates).length === 0)
    return { skip: 'the list gives no price for it that an endpoint of the gateway can charge' };
  const read = listed.withOutput(rates);
  return { windows: [{ rates: read.rates }], remarks: [...read.remarks, ...remarks] };
}

/** Tokens cost nothing, and nothing else has a price. */
const isFree = ({ flat, steps }: Draft): boolean =>
  [flat, ...steps.values()].flatMap((rates) => Object.values(rates)).every((rate) => rate === '0') &&
  Object.keys(flat).length > 0;

/** A list of ranges of the input length, the first from zero on. */
function addRanges(draft: Draft, ranges: unknown): void {
  for (const range of z.array(Entry).catch([]).parse(ranges)) {
    const above = numberOf(z.array(z.number()).catch([]).parse(range.range)[0]) ?? 0;
    const rates = above === 0 ? draft.flat : entryOf(draft.steps, above, newRates);
    for (const [member, value] of Object.entries(range)) {
      const rate = TOKENS[member];
      const number = numberOf(value);
      if (rate !== undefined && number !== undefined)
        rates[rate] = listed.amountOf(listed.decimalOf(number, TOKEN_PLACES));
    }
  }
}

const SECONDS_PER_HOUR = 3_600n;

function piecesOf(entry: Entry): Record<string, string> {
  const searches = z.record(z.string(), z.number()).catch({}).parse(entry.search_context_cost_per_query);
  const search = Math.max(...Object.values(searches));
  const request = numberOf(entry.input_cost_per_request);
  const fileSearch = numberOf(entry.file_search_cost_per_1k_calls);
  const second = entry.mode === 'audio_transcription' ? numberOf(entry.input_cost_per_second) : undefined;
  const audioSecond = second ?? numberOf(entry.input_cost_per_audio_per_second);
  return {
    ...(search >= 0 && { per_search: listed.amountOf(listed.decimalOf(search)) }),
    ...(request !== undefined && { per_request: listed.amountOf(listed.decimalOf(request)) }),
    ...(fileSearch !== undefined && { per_file_search: listed.amountOf(listed.decimalOf(fileSearch, 3)) }),
    ...(audioSecond !== undefined && {
      per_audio_hour: listed.amountOf(listed.decimalOf(audioSecond), SECONDS_PER_HOUR),
    }),
  };
}

/** Of a model whose images have one price for all sizes. */
function drawnPrice(entry: Entry): Record<string, string> | undefined {
  const isDrawing = typeof entry.mode === 'string' && entry.mode.startsWith('image_');
  const price = numberOf(entry.output_cost_per_image) ?? (isDrawing ? numberOf(entry.input_cost_per_image) : undefined);
  return price === undefined ? undefined : { '*': listed.amountOf(listed.decimalOf(price)) };
}

const READ_PIECES = new Set([
  ...['search_context_cost_per_query', 'input_cost_per_request', 'file_search_cost_per_1k_calls', 'tiered_pricing'],
  ...['input_cost_per_second', 'input_cost_per_audio_per_second', 'output_cost_per_image', 'input_cost_per_image'],
]);

/** A price other than zero that no rate was made of. */
function isUnread(member: string, entry: Entry): boolean {
  const [, name = ''] = NAME.exec(member) ?? [];
  if (!/_cost/.test(member) || BESIDE.test(member) || READ_PIECES.has(member)) return false;
  return !Object.hasOwn(TOKENS, name) && (numberOf(entry[member]) ?? 0) > 0;
}
