/**
 * Prices: rates, the cost of usage, and the maximum cost of a request.
 * Exact integers with one rounding (up) at the end. Every token is billed once, at the rate of its most specific kind that has one.
 */
import { type Nanos, parseNanos, parsePpm } from '../../core/index.ts';
import type { MeteredUsage } from '../usage-record.ts';

/** Nano-dollars per million tokens, or per piece. A kind without a rate is billed as the kind that contains it. */
export interface Rates {
  readonly input?: Nanos;
  readonly cachedInput?: Nanos;
  readonly cacheWrite?: Nanos;
  readonly cacheWriteLong?: Nanos;
  readonly audioInput?: Nanos;
  readonly imageInput?: Nanos;
  readonly output?: Nanos;
  readonly reasoning?: Nanos;
  readonly audioOutput?: Nanos;
  readonly imageOutput?: Nanos;
  readonly perSearch?: Nanos;
  /** By "size/quality", by "size", or by "*" for all others. */
  readonly perImage?: ReadonlyMap<string, Nanos>;
  readonly video?: VideoRate;
  readonly videoWithVideoInput?: VideoRate;
  /** Rates of service tiers, complete. Usage of any other tier has the rates above. */
  readonly tiers?: ReadonlyMap<string, Rates>;
}
/** One rate for all resolutions, or one per resolution. */
export type VideoRate = Nanos | ReadonlyMap<string, Nanos>;

const FIELDS = {
  input: 'input',
  cached_input: 'cachedInput',
  cache_write: 'cacheWrite',
  cache_write_1h: 'cacheWriteLong',
  audio_input: 'audioInput',
  image_input: 'imageInput',
  output: 'output',
  reasoning: 'reasoning',
  audio_output: 'audioOutput',
  image_output: 'imageOutput',
  per_search: 'perSearch',
} as const;

/** Parses the column `prices.rates`. Throws on rates that the configuration rejects: a wrong price is worse than none. */
export function parseRates(stored: unknown): Rates {
  if (typeof stored !== 'object' || stored === null) throw new Error('rates are not an object');
  const rates: Record<string, Nanos | ReadonlyMap<string, Nanos>> = {};
  for (const [name, value] of Object.entries(stored)) {
    if (name === 'tiers') continue;
    if (name === 'per_image') rates.perImage = parseTable(name, value);
    else if (name === 'video') rates.video = parseAmountOrTable(name, value);
    else if (name === 'video_with_video_input') rates.videoWithVideoInput = parseAmountOrTable(name, value);
    else if (name in FIELDS) rates[FIELDS[name as keyof typeof FIELDS]] = parseAmount(name, value);
    else throw new Error(`rates.${name} is unknown`);
  }
  return 'tiers' in stored ? { ...rates, tiers: parseTiers(stored.tiers, rates) } : rates;
}

function parseTiers(stored: unknown, base: Rates): ReadonlyMap<string, Rates> {
  if (typeof stored !== 'object' || stored === null) throw new Error('rates.tiers is not a table');
  return new Map(Object.entries(stored).map(([tier, own]) => [tier, parseTier(own, base)]));
}

/** A multiplier of all rates, or rates of its own. Then only prices per piece are taken over: a token rate would be too low. */
function parseTier(stored: unknown, base: Rates): Rates {
  if (typeof stored === 'object' && stored !== null && 'multiplier' in stored) {
    const ppm = typeof stored.multiplier === 'string' ? parsePpm(stored.multiplier) : undefined;
    if (ppm === undefined) throw new Error('rates.tiers has an invalid multiplier');
    const multiply = (rate: Nanos): Nanos => (rate * BigInt(ppm) + MILLION - 1n) / MILLION;
    return Object.fromEntries(
      Object.entries(base).map(([name, rate]: [string, Nanos | ReadonlyMap<string, Nanos>]) => [
        name,
        typeof rate === 'bigint' ? multiply(rate) : new Map([...rate].map(([kind, one]) => [kind, multiply(one)])),
      ]),
    );
  }
  const { perSearch, perImage } = base;
  return { ...(perSearch !== undefined && { perSearch }), ...(perImage && { perImage }), ...parseRates(stored) };
}

function parseAmount(name: string, value: unknown): Nanos {
  const nanos = typeof value === 'string' ? parseNanos(value) : undefined;
  if (nanos === undefined || nanos < 0n) throw new Error(`rates.${name} is not an amount`);
  return nanos;
}

function parseTable(name: string, value: unknown): ReadonlyMap<string, Nanos> {
  if (typeof value !== 'object' || value === null) throw new Error(`rates.${name} is not a table`);
  return new Map(Object.entries(value).map(([kind, price]) => [kind, parseAmount(`${name}.${kind}`, price)]));
}

const parseAmountOrTable = (name: string, value: unknown): VideoRate =>
  typeof value === 'string' ? parseAmount(name, value) : parseTable(name, value);

export type CostPart =
  | 'input'
  | 'cached_input'
  | 'cache_write'
  | 'cache_write_1h'
  | 'audio_input'
  | 'image_input'
  | 'output'
  | 'reasoning'
  | 'audio_output'
  | 'image_output'
  | 'search'
  | 'image'
  | 'video';

export interface CostLine {
  readonly part: CostPart;
  readonly count: bigint;
  /** Per million tokens; per piece for searches and images. */
  readonly rate: Nanos;
  /** count x rate in millionths of a nano-dollar, exact, before multipliers. */
  readonly femtoDollars: bigint;
}

export interface Cost {
  readonly nanos: Nanos;
  readonly lines: readonly CostLine[];
}

const MILLION = 1_000_000n;
/** The denominator for two multipliers, which is the normal case: computing the power on every call is slow. */
const TWO_MULTIPLIERS = MILLION ** 3n;

/** Multipliers are parts per million: of the group, of the user. Invalid counts are billed as zero. */
export function costOf(usage: MeteredUsage, given: Rates, multipliersPpm: readonly bigint[]): Cost {
  const rates = (usage.tier !== undefined && given.tiers?.get(usage.tier)) || given;
  const lines: CostLine[] = [];
  const tokens = (part: CostPart, count: bigint, rate: Nanos = 0n): void => {
    if (count > 0n) lines.push({ part, count, rate, femtoDollars: count * rate });
  };
  const pieces = (part: CostPart, count: bigint, rate: Nanos): void => {
    if (count > 0n) lines.push({ part, count, rate, femtoDollars: count * rate * MILLION });
  };

  const cacheRead = whole(usage.cacheRead);
  const cacheWrite = whole(usage.cacheWrite);
  // Some upstreams report a part that is larger than the total.
  const writeLong = smaller(whole(usage.cacheWriteLong), cacheWrite);
  let uncached = larger(whole(usage.input) - cacheRead - cacheWrite, 0n);
  // Upstreams do not report whether audio and images came from the cache. Counting them as uncached bills no token twice.
  const audioIn = rates.audioInput === undefined ? 0n : smaller(whole(usage.inputAudio), uncached);
  uncached -= audioIn;
  const imageIn = rates.imageInput === undefined ? 0n : smaller(whole(usage.inputImage), uncached);
  uncached -= imageIn;
  const writeRate = rates.cacheWrite ?? rates.input;
  tokens('input', uncached, rates.input);
  tokens('cached_input', cacheRead, rates.cachedInput ?? rates.input);
  tokens('cache_write', cacheWrite - writeLong, writeRate);
  tokens('cache_write_1h', writeLong, rates.cacheWriteLong ?? writeRate);
  tokens('audio_input', audioIn, rates.audioInput);
  tokens('image_input', imageIn, rates.imageInput);

  let output = whole(usage.output);
  const take = (count: number | undefined, isSeparate: boolean): bigint => {
    const taken = isSeparate ? smaller(whole(count), output) : 0n;
    output -= taken;
    return taken;
  };
  const reasoning = take(usage.reasoning, rates.reasoning !== undefined);
  const audioOut = take(usage.outputAudio, rates.audioOutput !== undefined);
  // Reported image tokens are billed by their rate. The price per piece holds where there is no such rate or no such report.
  const isByToken = rates.imageOutput !== undefined && usage.estimated !== true;
  const perImage = isByToken && usage.outputImage !== undefined ? undefined : rates.perImage;
  const imageOut = take(usage.outputImage, rates.imageOutput !== undefined || perImage !== undefined);
  tokens('output', output, rates.output);
  tokens('reasoning', reasoning, rates.reasoning);
  tokens('audio_output', audioOut, rates.audioOutput);
  if (perImage === undefined) tokens('image_output', imageOut, rates.imageOutput);

  if (rates.perSearch !== undefined) pieces('search', whole(usage.searches), rates.perSearch);
  for (const [kind, count] of Object.entries(usage.images ?? {}))
    if (perImage !== undefined) pieces('image', whole(count), imageRate(perImage, kind));
  return { nanos: total(lines, multipliersPpm), lines };
}

/** An image of a kind that is not in the table costs the highest rate, because it must not be free. */
function imageRate(perImage: ReadonlyMap<string, Nanos>, kind: string): Nanos {
  const [size = ''] = kind.split('/');
  return perImage.get(kind) ?? perImage.get(size) ?? perImage.get('*') ?? highest([...perImage.values()]);
}

const total = (lines: readonly { readonly femtoDollars: bigint }[], multipliersPpm: readonly bigint[]): Nanos =>
  applyMultipliers(
    lines.reduce((sum, line) => sum + line.femtoDollars, 0n),
    multipliersPpm,
  );

/** The only rounding: up, so that usage is never free. */
function applyMultipliers(femtoDollars: bigint, multipliersPpm: readonly bigint[]): Nanos {
  const numerator = multipliersPpm.reduce((product, ppm) => product * larger(ppm, 0n), femtoDollars);
  const denominator = multipliersPpm.length === 2 ? TWO_MULTIPLIERS : MILLION ** BigInt(multipliersPpm.length + 1);
  return (numerator + denominator - 1n) / denominator;
}

/** Facts about a request that are known before it is sent. */
export interface RequestFacts {
  readonly bodyBytes: number;
  /** Input tokens beside the body: media, and stored turns of known size. */
  readonly moreInput?: number;
  /** Context size of the model in tokens, if known. The input cannot cost more than that, however large the images in the body are. */
  readonly context?: number;
  /** The body refers to input of unknown size: a file, a video, stored items. */
  readonly readsWholeContext?: boolean;
  /** Maximum output tokens, all choices together. */
  readonly maxOutput: number;
  readonly maxSearches?: number;
  /** Requested images, by "size/quality". */
  readonly images?: Readonly<Record<string, number>>;
}

/** Tokenizers in use produce at most one token per two bytes of JSON. */
const BYTES_PER_TOKEN = 2n;
/** For models without a configured context size. */
const DEFAULT_CONTEXT = 200_000;

/** The maximum cost of a request, for admission: all possible input and output, each at its highest rate. */
export function maxCostOf(facts: RequestFacts, rates: Rates, multipliersPpm: readonly bigint[]): Nanos {
  const bodyTokens = (whole(facts.bodyBytes) + BYTES_PER_TOKEN - 1n) / BYTES_PER_TOKEN + whole(facts.moreInput);
  const context = whole(facts.context ?? (facts.readsWholeContext ? DEFAULT_CONTEXT : undefined));
  const input = facts.readsWholeContext ? larger(bodyTokens, context) : bodyTokens;
  const read = facts.context === undefined ? input : smaller(input, context);
  const { cachedInput, cacheWrite, cacheWriteLong, audioInput, imageInput } = rates;
  const inputRate = highest([rates.input, cachedInput, cacheWrite, cacheWriteLong, audioInput, imageInput]);
  const searches = whole(facts.maxSearches) * (rates.perSearch ?? 0n) * MILLION;
  return applyMultipliers(read * inputRate + maxOutputCost(facts, rates) + searches, multipliersPpm);
}

/** Images are billed by tokens or by piece, never both; text beside them always by tokens. */
function maxOutputCost({ maxOutput, images = {} }: RequestFacts, rates: Rates): bigint {
  const tokens = atMost(maxOutput);
  const textRate = highest([rates.output, rates.reasoning, rates.audioOutput]);
  const byToken = tokens * larger(textRate, rates.imageOutput ?? 0n);
  const { perImage } = rates;
  if (perImage === undefined) return byToken;
  const pieces = Object.entries(images).reduce(
    (sum, [kind, count]) => sum + atMost(count) * imageRate(perImage, kind),
    0n,
  );
  return larger(byToken, tokens * textRate + pieces * MILLION);
}

/** The rate of a video by its resolution. A resolution that is not in the table costs the highest rate. */
export function videoRateOf(rates: Rates, resolution: string, hasVideoInput: boolean): Nanos | undefined {
  const rate = (hasVideoInput ? rates.videoWithVideoInput : undefined) ?? rates.video;
  return rate === undefined || typeof rate === 'bigint' ? rate : (rate.get(resolution) ?? highest([...rate.values()]));
}

/** `rate` is per million tokens. */
export const videoCostOf = (tokens: number, rate: Nanos, multipliersPpm: readonly bigint[]): Nanos =>
  videoCost(tokens, rate, multipliersPpm).nanos;

/** The same with its one line. */
export function videoCost(tokens: number, rate: Nanos, multipliersPpm: readonly bigint[]): Cost {
  const count = whole(tokens);
  const lines: CostLine[] = [{ part: 'video', count, rate, femtoDollars: count * rate }];
  return { nanos: total(lines, multipliersPpm), lines };
}

const whole = (count: number | undefined): bigint =>
  count !== undefined && Number.isSafeInteger(count) && count > 0 ? BigInt(count) : 0n;
/** A limit that is not a whole number is rounded up: treated as zero, it would admit any output for free. */
const atMost = (count: number): bigint =>
  count > 0 ? BigInt(Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER)) : 0n;
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const highest = (rates: readonly (Nanos | undefined)[]): Nanos =>
  rates.reduce<Nanos>((top, rate) => (rate !== undefined && rate > top ? rate : top), 0n);
