/**
 * Settings of every property test, preloaded into each test file by scripts/test.ts. `LAWS_SEED` replaces the fixed
 * seed. `LAWS_RUNS` multiplies the number of runs: 1 makes all of them, 0.25 is the default and 0.05 that of `npm
 * test`.
 */
import fc from 'fast-check';

/** Fixed, so that `npm test` gives the same result every time. `npm run fuzz -- explore` picks a random one. */
const DEFAULT_SEED = 20_250_901;
const IS_SHORT = process.env.TEST_LONG === 'off';
/**
 * The first quarter of the runs of a seed finds nearly every mistake; `npm run fuzz -- explore` makes forty times as
 * many with a random seed.
 */
const FACTOR = Number(process.env.LAWS_RUNS ?? (IS_SHORT ? 0.05 : 0.25));
/** A property with at most this many runs always makes all of them. */
const KEPT_RUNS = IS_SHORT ? 20 : 100;

export const SEED = Number(process.env.LAWS_SEED ?? DEFAULT_SEED);

/** The number of runs of a property that makes `all` of them when `LAWS_RUNS` is 1. */
export const runs = (all: number): number => Math.max(Math.min(all, KEPT_RUNS), Math.round(all * FACTOR));

/**
 * The part of a matrix of cases that a run covers: a quarter or a twentieth, another with another seed, all when
 * `LAWS_RUNS` is 1.
 */
export function sampled<T>(cases: readonly T[]): T[] {
  const step = Math.max(1, Math.round(1 / FACTOR));
  return cases.filter((_, n) => n % step === SEED % step);
}

// 100 is the default of fast-check.
fc.configureGlobal({ seed: SEED, numRuns: runs(100), includeErrorInReport: true });
