/**
 * Rates of a price: nano-dollars per million tokens or per piece.
 * A kind without a rate is billed as the kind that contains it.
 */
import { type Nanos, parseNanos, parsePpm } from '../../core/index.ts';
import { RATE_NAMES, VIDEO_RATE_NAMES } from '../../schemas/index.ts';

export type FlatRate = (typeof RATE_NAMES)[number];
type VideoRates = Record<(typeof VIDEO_RATE_NAMES)[number], Nanos | ReadonlyMap<string, Nanos>>;

/** Under the names of the configuration. */
export interface Rates extends Readonly<Partial<Record<FlatRate, Nanos> & VideoRates>> {
  /** By "size/quality", by "size", or by "*" for all others. */
  readonly per_image?: ReadonlyMap<string, Nanos>;
  /** The longest prompts first. A call with more input than `above` has these rates, which are complete. */
  readonly steps?: readonly RateStep[];
  /** Rates of service tiers, complete. Usage of any other tier has the rates above. */
  readonly tiers?: ReadonlyMap<string, Rates>;
}

export interface RateStep {
  readonly above: bigint;
  readonly rates: Rates;
}

const FLAT: ReadonlySet<string> = new Set(RATE_NAMES);
const OF_VIDEO: ReadonlySet<string> = new Set(VIDEO_RATE_NAMES);

/**
 * Parses the column `prices.rates`. Throws on rates that the configuration rejects: a wrong price is worse than none.
 */
export function parseRates(stored: unknown): Rates {
  if (typeof stored !== 'object' || stored === null) throw new Error('rates are not an object');
  const { steps, tiers, ...flat } = stored as Record<string, unknown>;
  const base = parseFlat(flat);
  const rates = steps === undefined ? base : { ...base, steps: parseSteps(steps, base) };
  return tiers === undefined ? rates : { ...rates, tiers: parseTiers(tiers, rates) };
}

/**
 * The column `prices.cost`. Requests of a batch that are sent to the provider
 * one by one cost what others do, whatever users pay.
 */
export function parseCost(stored: unknown): Rates {
  const { tiers = new Map<string, Rates>(), ...rates } = parseRates(stored);
  return { ...rates, tiers: new Map([...tiers].filter(([name]) => name !== 'batch')) };
}

function parseFlat(stored: Readonly<Record<string, unknown>>): Rates {
  return Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, parseRate(name, value)]));
}

function parseRate(name: string, value: unknown): Nanos | ReadonlyMap<string, Nanos> {
  if (FLAT.has(name) || (OF_VIDEO.has(name) && typeof value === 'string')) return parseAmount(name, value);
  if (name !== 'per_image' && !OF_VIDEO.has(name)) throw new Error(`rates.${name} is unknown`);
  if (typeof value !== 'object' || value === null) throw new Error(`rates.${name} is not a table`);
  return new Map(Object.entries(value).map(([kind, price]) => [kind, parseAmount(`${name}.${kind}`, price)]));
}

/** A rate that a step leaves out is that of `base`. */
function parseSteps(stored: unknown, base: Rates): readonly RateStep[] {
  if (!Array.isArray(stored)) throw new Error('rates.steps is not a list');
  return stored
    .map(({ above, ...own }: Record<string, unknown>): RateStep => {
      if (typeof above !== 'number' || !Number.isSafeInteger(above)) throw new Error('rates.steps has no `above`');
      return { above: BigInt(above), rates: { ...base, ...parseFlat(own) } };
    })
    .sort((a, b) => Number(b.above - a.above));
}

function parseTiers(stored: unknown, base: Rates): ReadonlyMap<string, Rates> {
  if (typeof stored !== 'object' || stored === null) throw new Error('rates.tiers is not a table');
  return new Map(Object.entries(stored).map(([tier, own]) => [tier, parseTier(own, base)]));
}

/**
 * A multiplier of all rates, or rates of its own. Then only prices per piece are taken over:
 * a token rate would be too low.
 */
function parseTier(stored: unknown, base: Rates): Rates {
  if (typeof stored === 'object' && stored !== null && 'multiplier' in stored) {
    const ppm = typeof stored.multiplier === 'string' ? parsePpm(stored.multiplier) : undefined;
    if (ppm === undefined) throw new Error('rates.tiers has an invalid multiplier');
    return timesRates(base, BigInt(ppm));
  }
  const pieces = Object.entries(base).filter(([name]) => name.startsWith('per_'));
  return { ...Object.fromEntries(pieces), ...parseRates(stored) };
}

export function timesRates({ steps, tiers: _, ...flat }: Rates, ppm: bigint): Rates {
  const multiply = (rate: Nanos): Nanos => (rate * ppm + MILLION - 1n) / MILLION;
  const rates: Rates = Object.fromEntries(
    Object.entries(flat).map(([name, rate]: [string, Nanos | ReadonlyMap<string, Nanos>]) => [
      name,
      typeof rate === 'bigint' ? multiply(rate) : new Map([...rate].map(([kind, one]) => [kind, multiply(one)])),
    ]),
  );
  return steps === undefined
    ? rates
    : { ...rates, steps: steps.map((step) => ({ ...step, rates: timesRates(step.rates, ppm) })) };
}

const MILLION = 1_000_000n;

function parseAmount(name: string, value: unknown): Nanos {
  const nanos = typeof value === 'string' ? parseNanos(value) : undefined;
  if (nanos === undefined || nanos < 0n) throw new Error(`rates.${name} is not an amount`);
  return nanos;
}
