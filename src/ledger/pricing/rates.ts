/**
 * From usage and rates to an amount. Exact integers all the way, one rounding (up) at the end; every token is billed once, at the
 * price of the most particular kind that is priced.
 */
import { type Nanos, parseNanos } from '../../core/index.ts';
import type { MeteredUsage } from '../usage-record.ts';

/** Nano-dollars per million tokens, or per piece. A kind without a price of its own counts as the kind it is part of. */
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
  /** By "size/quality", by "size", or by "*" for the rest. */
  readonly perImage?: ReadonlyMap<string, Nanos>;
  readonly video?: VideoRate;
  readonly videoWithVideoInput?: VideoRate;
}
/** One for all, or by resolution. */
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

/** Reads the column `prices.rates`. Throws on what the configuration would have refused: a wrong price is worse than none. */
export function parseRates(stored: unknown): Rates {
  if (typeof stored !== 'object' || stored === null) throw new Error('rates are not an object');
  const rates: Record<string, Nanos | ReadonlyMap<string, Nanos>> = {};
  for (const [name, value] of Object.entries(stored)) {
    if (name === 'per_image') rates.perImage = table(name, value);
    else if (name === 'video') rates.video = oneOrTable(name, value);
    else if (name === 'video_with_video_input') rates.videoWithVideoInput = oneOrTable(name, value);
    else if (name in FIELDS) rates[FIELDS[name as keyof typeof FIELDS]] = amount(name, value);
    else throw new Error(`rates.${name} is not known`);
  }
  return rates;
}

function amount(name: string, value: unknown): Nanos {
  const nanos = typeof value === 'string' ? parseNanos(value) : undefined;
  if (nanos === undefined || nanos < 0n) throw new Error(`rates.${name} is not an amount`);
  return nanos;
}

function table(name: string, value: unknown): ReadonlyMap<string, Nanos> {
  if (typeof value !== 'object' || value === null) throw new Error(`rates.${name} is not a table`);
  return new Map(Object.entries(value).map(([kind, price]) => [kind, amount(`${name}.${kind}`, price)]));
}

const oneOrTable = (name: string, value: unknown): VideoRate =>
  typeof value === 'string' ? amount(name, value) : table(name, value);

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
  | 'image';

export interface CostLine {
  readonly part: CostPart;
  readonly count: bigint;
  /** Per million tokens; per piece for searches and images. */
  readonly rate: Nanos;
  /** count x rate in millionths of a nano-dollar: exact, before multipliers. */
  readonly femtos: bigint;
}

export interface Cost {
  readonly nanos: Nanos;
  readonly lines: readonly CostLine[];
}

const MILLION = 1_000_000n;
/** Of the usual two multipliers: raising to a power is dear for something that never changes. */
const TRILLION_MILLIONS = MILLION ** 3n;

/** Multipliers are parts per million: of the group, of the user. Counts that are no counts are taken as none. */
export function costOf(usage: MeteredUsage, rates: Rates, multipliersPpm: readonly bigint[]): Cost {
  const lines: CostLine[] = [];
  const tokens = (part: CostPart, count: bigint, rate: Nanos = 0n): void => {
    if (count > 0n) lines.push({ part, count, rate, femtos: count * rate });
  };
  const pieces = (part: CostPart, count: bigint, rate: Nanos): void => {
    if (count > 0n) lines.push({ part, count, rate, femtos: count * rate * MILLION });
  };

  const cacheRead = whole(usage.cacheRead);
  const cacheWrite = whole(usage.cacheWrite);
  // Some upstreams report a split that is larger than the sum.
  const writeLong = least(whole(usage.cacheWriteLong), cacheWrite);
  let uncached = most(whole(usage.input) - cacheRead - cacheWrite, 0n);
  // Whether audio and pictures came from the cache is not reported; counting them inside the uncached part bills nothing twice.
  const audioIn = rates.audioInput === undefined ? 0n : least(whole(usage.inputAudio), uncached);
  uncached -= audioIn;
  const imageIn = rates.imageInput === undefined ? 0n : least(whole(usage.inputImage), uncached);
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
    const taken = isSeparate ? least(whole(count), output) : 0n;
    output -= taken;
    return taken;
  };
  const reasoning = take(usage.reasoning, rates.reasoning !== undefined);
  const audioOut = take(usage.outputAudio, rates.audioOutput !== undefined);
  // Pictures with a price per piece are not billed by their tokens as well.
  const { perImage } = rates;
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

/** A picture of a kind that is not in the table costs as much as the dearest: free would be an invitation. */
function imageRate(perImage: ReadonlyMap<string, Nanos>, kind: string): Nanos {
  const [size = ''] = kind.split('/');
  return perImage.get(kind) ?? perImage.get(size) ?? perImage.get('*') ?? dearest([...perImage.values()]);
}

const total = (lines: readonly { readonly femtos: bigint }[], multipliersPpm: readonly bigint[]): Nanos =>
  scaled(
    lines.reduce((sum, line) => sum + line.femtos, 0n),
    multipliersPpm,
  );

/** The one rounding: up, so that what was used is never free. */
function scaled(femtos: bigint, multipliersPpm: readonly bigint[]): Nanos {
  const numerator = multipliersPpm.reduce((product, ppm) => product * most(ppm, 0n), femtos);
  const denominator = multipliersPpm.length === 2 ? TRILLION_MILLIONS : MILLION ** BigInt(multipliersPpm.length + 1);
  return (numerator + denominator - 1n) / denominator;
}

/** What is known of a request before it is sent. */
export interface RequestFacts {
  readonly bodyBytes: number;
  /** The most the model can read, when known: a body cannot cost more than that, however large its pictures are. */
  readonly context?: number;
  /** The model will also read what the body only names: a stored conversation, a file, an address. */
  readonly readsStoredInput?: boolean;
  /** The most it may write, all choices together. */
  readonly maxOutput: number;
  readonly maxSearches?: number;
  /** Pictures asked for, by "size/quality". */
  readonly images?: Readonly<Record<string, number>>;
}

/** No tokenizer in use makes more than one token of two bytes of JSON. */
const BYTES_PER_TOKEN = 2n;
/** For models whose configuration does not say. */
const USUAL_CONTEXT = 200_000;

/** The largest cost the request can have, for admission: everything it may read and write, each at its dearest price. */
export function maxCostOf(facts: RequestFacts, rates: Rates, multipliersPpm: readonly bigint[]): Nanos {
  const ofBody = (whole(facts.bodyBytes) + BYTES_PER_TOKEN - 1n) / BYTES_PER_TOKEN;
  const context = whole(facts.context ?? (facts.readsStoredInput ? USUAL_CONTEXT : undefined));
  const input = facts.readsStoredInput ? most(ofBody, context) : ofBody;
  const read = facts.context === undefined ? input : least(input, context);
  const { cachedInput, cacheWrite, cacheWriteLong, audioInput, imageInput } = rates;
  const inputRate = dearest([rates.input, cachedInput, cacheWrite, cacheWriteLong, audioInput, imageInput]);
  const outputRate = dearest([rates.output, rates.reasoning, rates.audioOutput, rates.imageOutput]);
  const { perImage } = rates;
  const images = Object.entries(facts.images ?? {}).reduce(
    (sum, [kind, count]) => sum + (perImage === undefined ? 0n : atMost(count) * imageRate(perImage, kind)),
    0n,
  );
  const pieces = whole(facts.maxSearches) * (rates.perSearch ?? 0n) + images;
  return scaled(read * inputRate + atMost(facts.maxOutput) * outputRate + pieces * MILLION, multipliersPpm);
}

/** The rate of a video by its resolution; a resolution that is not in the table costs as much as the dearest. */
export function videoRateOf(rates: Rates, resolution: string, hasVideoInput: boolean): Nanos | undefined {
  const rate = (hasVideoInput ? rates.videoWithVideoInput : undefined) ?? rates.video;
  return rate === undefined || typeof rate === 'bigint' ? rate : (rate.get(resolution) ?? dearest([...rate.values()]));
}

/** `rate` is per million tokens. */
export const videoCostOf = (tokens: number, rate: Nanos, multipliersPpm: readonly bigint[]): Nanos =>
  scaled(whole(tokens) * rate, multipliersPpm);

const whole = (count: number | undefined): bigint =>
  count !== undefined && Number.isSafeInteger(count) && count > 0 ? BigInt(count) : 0n;
/** A caller's limit that is no count still is one: taken as none, it would admit anything. */
const atMost = (count: number): bigint =>
  count > 0 ? BigInt(Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER)) : 0n;
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const dearest = (rates: readonly (Nanos | undefined)[]): Nanos =>
  rates.reduce<Nanos>((top, rate) => (rate !== undefined && rate > top ? rate : top), 0n);
