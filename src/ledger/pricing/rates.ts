/**
 * Cost of usage, and maximum cost of a request: exact, rounded up once at the end.
 * A token is billed once, at its most specific rate.
 */
import type { ModelUsage, Nanos } from '../../core/index.ts';
import { type PriceUnit, TOKENS_PER_CONVERTED_IMAGE, tierFactor } from '../../rules/index.ts';
import type { MeteredUsage } from '../usage-record.ts';
import { type FlatRate, type RateStep, type Rates, timesRates } from './parse-rates.ts';

/** Parts that are counted in tokens have the names of their rates. */
type TokenPart = Exclude<FlatRate, `per_${string}`>;
export type CostPart = TokenPart | 'search' | 'file_search' | 'fetch' | 'request' | 'audio_second' | 'image' | 'video';

export interface CostLine {
  readonly part: CostPart;
  readonly count: bigint;
  /** Per million tokens; per hour for seconds of audio; per piece for the others. */
  readonly rate: Nanos;
  /** count x rate in millionths of a nano-dollar, before multipliers. Exact, except that time is rounded up. */
  readonly femtoDollars: bigint;
}

export interface Cost {
  readonly nanos: Nanos;
  readonly lines: readonly CostLine[];
  /**
   * The length of the prompt above which the rates of the lines hold; undefined for the first step, and without steps.
   */
  readonly above?: bigint;
  readonly tier?: string;
}

const MILLION = 1_000_000n;
/** The denominator for two multipliers, which is the normal case: computing the power on every call is slow. */
const TWO_MULTIPLIERS = MILLION ** 3n;
const HOUR_S = 3_600n;

/** Parts per million: of the group, of the user. */
export type Multipliers = readonly bigint[];
export type RatesOf = (price: string) => Rates | undefined;

/** Invalid counts are zero. Parts of other models have their own rates. */
export function costOf(usage: MeteredUsage, given: Rates, multipliersPpm: Multipliers, ratesOf?: RatesOf): Cost {
  const others = (usage.models ?? []).flatMap((row) => {
    const rates = row.price === undefined ? undefined : ratesOf?.(row.price);
    // The request itself is billed once.
    return rates ? [{ row, rates: { ...rates, per_request: 0n } }] : [];
  });
  const own = costOfOne(
    others.reduce((rest, { row }) => without(rest, row), usage),
    given,
    multipliersPpm,
  );
  if (others.length === 0) return own;
  const lines = [...own.lines, ...others.flatMap(({ row, rates }) => costOfOne(row, rates, []).lines)];
  return { ...own, lines, nanos: total(lines, multipliersPpm) };
}

const PARTS = ['input', 'cacheRead', 'cacheWrite', 'cacheWriteLong', 'inputImage', 'output', 'outputImage'] as const;

const without = (usage: MeteredUsage, part: ModelUsage): MeteredUsage => ({
  ...usage,
  ...Object.fromEntries(
    PARTS.flatMap((name) => (part[name] === undefined ? [] : [[name, Math.max(0, (usage[name] ?? 0) - part[name])]])),
  ),
});

function costOfOne(usage: MeteredUsage, given: Rates, multipliersPpm: Multipliers): Cost {
  const { tier } = usage;
  if (tier === undefined) return costIn(usage, given, multipliersPpm);
  const ofTier = ratesOfTier(given, tier, (rates) => costIn(usage, rates, multipliersPpm).nanos);
  const cost = costIn(usage, ofTier, multipliersPpm);
  return ofTier === given ? cost : { ...cost, tier };
}

/**
 * The rates of a tier. One without a price is charged at the dearest tier of the line, or at the standard rates times
 * its factor: what the provider asks for it is not known here, and is rarely less. `costOfRates`: of the usage.
 */
export function ratesOfTier(rates: Rates, tier: string, costOfRates: (rates: Rates) => Nanos): Rates {
  const priced = rates.tiers?.get(tier);
  if (priced) return priced;
  const factor = tierFactor(tier);
  if (factor === 1n) return rates;
  const dearest = [...(rates.tiers?.values() ?? [])].reduce(
    (most, one) => (costOfRates(one) > costOfRates(most) ? one : most),
    rates,
  );
  return dearest === rates ? timesRates(rates, factor * MILLION) : dearest;
}

function costIn(usage: MeteredUsage, given: Rates, multipliersPpm: Multipliers): Cost {
  const { steps } = given;
  const step = steps && stepOf(usage, steps);
  const rates = step?.rates ?? given;
  const lines = new CostLines(rates);
  addInput(lines, usage, rates);
  addOutput(lines, usage, rates);
  addPieces(lines, usage, rates);
  return { nanos: total(lines.all, multipliersPpm), lines: lines.all, ...(step && { above: step.above }) };
}

/** By the longest prompt that the provider read, with its cached parts. */
function stepOf(usage: MeteredUsage, steps: readonly RateStep[]): RateStep | undefined {
  const { input, cacheRead, cacheWrite, longestPrompt } = usage;
  const prompt =
    longestPrompt === undefined ? larger(whole(input), whole(cacheRead) + whole(cacheWrite)) : whole(longestPrompt);
  return steps.find(({ above }) => prompt > above);
}

class CostLines {
  readonly all: CostLine[] = [];
  readonly #rates: Rates;

  constructor(rates: Rates) {
    this.#rates = rates;
  }

  /** `whole`: the rate of what contains the part. */
  tokens(part: TokenPart, count: bigint, whole = 0n): void {
    const rate = this.#rates[part] ?? whole;
    if (count > 0n) this.all.push({ part, count, rate, femtoDollars: count * rate });
  }

  /** `unit`: how many a rate is for. */
  pieces(part: CostPart, count: number | undefined, rate: Nanos | undefined, unit = 1n): void {
    const counted = whole(count);
    if (rate === undefined || counted === 0n) return;
    this.all.push({ part, count: counted, rate, femtoDollars: roundUp(counted * rate * MILLION, unit) });
  }
}

/** Takes parts out of a whole: some upstreams report a part that is larger than its whole. */
class Remainder {
  left: bigint;

  constructor(whole: bigint) {
    this.left = whole;
  }

  /** Nothing for a part without a rate of its own. */
  take(part: bigint, isSeparate: boolean): bigint {
    const taken = isSeparate ? smaller(part, this.left) : 0n;
    this.left -= taken;
    return taken;
  }
}

function addInput(lines: CostLines, usage: MeteredUsage, rates: Rates): void {
  const cacheRead = whole(usage.cacheRead);
  const cacheWrite = whole(usage.cacheWrite);
  const writeLong = smaller(whole(usage.cacheWriteLong), cacheWrite);
  const [readAudio, readImage] = [whole(usage.cacheReadAudio), whole(usage.cacheReadImage)];
  const read = new Remainder(cacheRead);
  const cachedAudio = read.take(readAudio, 'cached_audio_input' in rates);
  const cachedImage = read.take(readImage, 'cached_image_input' in rates);
  // Audio and images that are not reported as cached count as uncached, which bills no token twice.
  const uncached = new Remainder(larger(whole(usage.input) - cacheRead - cacheWrite, 0n));
  const audio = uncached.take(larger(whole(usage.inputAudio) - readAudio, 0n), 'audio_input' in rates);
  const image = uncached.take(larger(whole(usage.inputImage) - readImage, 0n), 'image_input' in rates);
  const video = uncached.take(whole(usage.inputVideo), 'video_input' in rates);
  lines.tokens('input', uncached.left);
  lines.tokens('cached_input', read.left, rates.input);
  lines.tokens('cached_audio_input', cachedAudio);
  lines.tokens('cached_image_input', cachedImage);
  lines.tokens('cache_write', cacheWrite - writeLong, rates.input);
  lines.tokens('cache_write_1h', writeLong, rates.cache_write ?? rates.input);
  lines.tokens('cache_hour', whole(usage.cacheHours), cacheHourRate(rates));
  lines.tokens('audio_input', audio);
  lines.tokens('image_input', image);
  lines.tokens('video_input', video);
}

/** Providers ask 2 to 10 times their price of input. What is not known must not be cheap. */
const cacheHourRate = ({ cache_hour: rate, input = 0n }: Rates): Nanos => rate ?? 10n * input;

function addOutput(lines: CostLines, usage: MeteredUsage, rates: Rates): void {
  const output = new Remainder(whole(usage.output));
  const reasoning = output.take(whole(usage.reasoning), 'reasoning' in rates);
  const audio = output.take(whole(usage.outputAudio), 'audio_output' in rates);
  const video = output.take(whole(usage.outputVideo), 'video_output' in rates);
  // Reported image tokens are billed by their rate.
  // The price per piece holds where there is no such rate or no such report.
  const isByToken = 'image_output' in rates && usage.estimated !== true;
  const perImage = isByToken && usage.outputImage !== undefined ? undefined : rates.per_image;
  const images = usage.images ?? drawnBeside(usage.outputImage);
  const image = output.take(whole(usage.outputImage), 'image_output' in rates || perImage !== undefined);
  lines.tokens('output', output.left);
  lines.tokens('reasoning', reasoning);
  lines.tokens('audio_output', audio);
  lines.tokens('video_output', video);
  if (perImage === undefined) lines.tokens('image_output', image);
  else for (const [kind, count] of Object.entries(images)) lines.pieces('image', count, imageRate(perImage, kind));
}

/** Pictures of a reply that nobody counted, by their tokens: the price per piece replaces that of the tokens. */
const drawnBeside = (tokens = 0): Readonly<Record<string, number>> =>
  tokens > 0 ? { auto: Math.ceil(tokens / TOKENS_PER_CONVERTED_IMAGE.usual) } : {};

function addPieces(lines: CostLines, usage: MeteredUsage, rates: Rates): void {
  if (rates.citation !== undefined) lines.tokens('citation', whole(usage.citations));
  lines.pieces('search', usage.searches, rates.per_search);
  lines.pieces('file_search', usage.fileSearches, rates.per_file_search);
  lines.pieces('fetch', usage.fetches, rates.per_fetch);
  lines.pieces('request', 1, rates.per_request);
  lines.pieces('audio_second', usage.audioSeconds, rates.per_audio_hour, HOUR_S);
}

/** An image of a kind that is not in the table costs the highest rate, because it must not be free. */
function imageRate(perImage: ReadonlyMap<string, Nanos>, kind: string): Nanos {
  const [size = ''] = kind.split('/');
  return perImage.get(kind) ?? perImage.get(size) ?? perImage.get('*') ?? highest([...perImage.values()]);
}

/**
 * Before it is made: the provider chooses what the request leaves to it,
 * such as the pixels of `2K`, and reports its choice.
 */
function maxImageRate(perImage: ReadonlyMap<string, Nanos>, kind: string): Nanos {
  const [size = '', quality] = kind.split('/');
  const isOpen = size === 'auto' || !(/^\d+x\d+$/.test(size) || perImage.has(kind));
  const open = [...perImage].filter(([name]) => isOpen || (quality === 'auto' && name.startsWith(`${size}/`)));
  return highest([imageRate(perImage, kind), ...open.map(([, rate]) => rate)]);
}

const total = (lines: readonly { readonly femtoDollars: bigint }[], multipliersPpm: Multipliers): Nanos =>
  applyMultipliers(
    lines.reduce((sum, line) => sum + line.femtoDollars, 0n),
    multipliersPpm,
  );

/** The only rounding: up, so that usage is never free. */
function applyMultipliers(femtoDollars: bigint, multipliersPpm: Multipliers): Nanos {
  const numerator = multipliersPpm.reduce((product, ppm) => product * larger(ppm, 0n), femtoDollars);
  return roundUp(
    numerator,
    multipliersPpm.length === 2 ? TWO_MULTIPLIERS : MILLION ** BigInt(multipliersPpm.length + 1),
  );
}

export interface RequestFacts {
  /** Maximum input tokens: text, media, stored turns and results of tools. */
  readonly maxInput: number;
  /** Maximum output tokens, all choices together. */
  readonly maxOutput: number;
  /** Maximum tokens of pictures, beside `maxOutput`. Undefined: any of the output may be pictures. */
  readonly maxDrawn?: number;
  readonly maxSearches?: number;
  /** As in a usage. */
  readonly cacheHours?: number;
  /** False where the input, or the output, has certainly no audio. */
  readonly readsAudio?: boolean;
  readonly writesAudio?: boolean;
  readonly writesVideo?: boolean;
  readonly images?: Readonly<Record<string, number>>;
}

/** Models read at least this many tokens in a second of audio: from 10 (OpenAI) to 32 (Gemini). */
const TOKENS_PER_SECOND = 10n;
/** Sources that one answer of a research model reports; several times what is usual. */
const MAX_CITATIONS = 200_000n;

/**
 * The maximum cost of a request, for admission: all possible input and output,
 * each at the highest rate that the input can reach.
 */
export function maxCostOf(facts: RequestFacts, rates: Rates, multipliersPpm: Multipliers): Nanos {
  const read = atMost(facts.maxInput);
  const most = reachableRates(rates, read).reduce((top, step) => larger(top, maxFemtoOf(facts, read, step)), 0n);
  return applyMultipliers(most, multipliersPpm);
}

/**
 * All rates that a call with at most `input` tokens can be charged by:
 * those of the first step, and of every step below `input`.
 */
export const reachableRates = (rates: Rates, input: bigint): readonly Rates[] => [
  rates,
  ...(rates.steps ?? []).filter(({ above }) => above < input).map((step) => step.rates),
];

const INPUT_RATES = [
  'input',
  'image_input',
  'video_input',
  'cached_input',
  'cached_image_input',
  'cache_write',
  'cache_write_1h',
] as const;
const AUDIO_RATES = ['audio_input', 'cached_audio_input'] as const;

function maxFemtoOf(facts: RequestFacts, read: bigint, rates: Rates): bigint {
  const audioRates = facts.readsAudio === false ? [] : AUDIO_RATES;
  const inputRate = highest([...INPUT_RATES, ...audioRates].map((name) => rates[name]));
  const toolRate = highest([rates.per_search, rates.per_file_search, rates.per_fetch]);
  const pieces = atMost(facts.maxSearches ?? 0) * toolRate + (rates.per_request ?? 0n);
  const audioHour = facts.readsAudio === false ? 0n : (rates.per_audio_hour ?? 0n);
  const audio = roundUp(read * audioHour * MILLION, TOKENS_PER_SECOND * HOUR_S);
  const citations = MAX_CITATIONS * (rates.citation ?? 0n);
  const kept = atMost(facts.cacheHours ?? 0) * cacheHourRate(rates);
  return kept + read * inputRate + maxOutputCost(facts, rates) + pieces * MILLION + audio + citations;
}

/** Images are billed by tokens or by piece, never both; text beside them always by tokens. */
function maxOutputCost(facts: RequestFacts, rates: Rates): bigint {
  const { images = {} } = facts;
  const tokens = atMost(facts.maxOutput);
  const drawn = facts.maxDrawn === undefined ? tokens : atMost(facts.maxDrawn);
  const written = facts.maxDrawn === undefined ? 0n : tokens;
  const audioRate = facts.writesAudio === false ? undefined : rates.audio_output;
  const videoRate = facts.writesVideo === false ? undefined : rates.video_output;
  const textRate = highest([rates.output, rates.reasoning, videoRate, audioRate]);
  const byToken = written * textRate + drawn * larger(textRate, rates.image_output ?? 0n);
  const { per_image: perImage } = rates;
  if (perImage === undefined) return byToken;
  const pieces = Object.entries(images).reduce(
    (sum, [kind, count]) => sum + atMost(count) * maxImageRate(perImage, kind),
    0n,
  );
  return larger(byToken, (written + drawn) * textRate + pieces * MILLION);
}

export interface VideoMeasure {
  readonly unit: PriceUnit;
  readonly hasAudio: boolean;
}
const BY_TOKENS: VideoMeasure = { unit: 'tokens', hasAudio: true };

/** The rate of a video by its resolution. A resolution that is not in the table costs the highest rate. */
export function videoRateOf(
  rates: Rates,
  resolution: string,
  hasVideoInput: boolean,
  { unit, hasAudio }: VideoMeasure = BY_TOKENS,
): Nanos | undefined {
  const rate = {
    tokens: () => (hasVideoInput ? rates.video_with_video_input : undefined) ?? rates.video,
    seconds: () => (hasAudio ? rates.per_video_second_with_audio : undefined) ?? rates.per_video_second,
    videos: () => rates.per_video,
  }[unit]();
  return rate === undefined || typeof rate === 'bigint' ? rate : (rate.get(resolution) ?? highest([...rate.values()]));
}

/** `rate` is per million tokens, per second or per video. */
export function videoCost(counted: number, rate: Nanos, multipliersPpm: Multipliers, unit: PriceUnit = 'tokens'): Cost {
  const count = whole(counted);
  const femtoDollars = count * rate * (unit === 'tokens' ? 1n : MILLION);
  const lines: CostLine[] = [{ part: 'video', count, rate, femtoDollars }];
  return { nanos: total(lines, multipliersPpm), lines };
}

const whole = (count: number | undefined): bigint =>
  count !== undefined && Number.isSafeInteger(count) && count > 0 ? BigInt(count) : 0n;
/** A limit that is not a whole number is rounded up: treated as zero, it would admit any output for free. */
const atMost = (count: number): bigint =>
  count > 0 ? BigInt(Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER)) : 0n;
const roundUp = (amount: bigint, unit: bigint): bigint => (amount + unit - 1n) / unit;
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const highest = (rates: readonly (Nanos | undefined)[]): Nanos =>
  rates.reduce<Nanos>((top, rate) => (rate !== undefined && rate > top ? rate : top), 0n);
