/**
 * Settings of every property test, preloaded into each test file by scripts/test.ts.
 * `LAWS_SEED` replaces the fixed seed; `LAWS_RUNS` multiplies the number of runs.
 */
import fc from 'fast-check';

/** Fixed, so that `npm test` gives the same result every time. `npm run explore` picks a random one. */
const DEFAULT_SEED = 20_250_901;
const FACTOR = Number(process.env.LAWS_RUNS ?? 1);

export const SEED = Number(process.env.LAWS_SEED ?? DEFAULT_SEED);

/** The number of runs of a property that runs `usual` times by default. */
export const runs = (usual: number): number => Math.max(1, Math.round(usual * FACTOR));

// 100 is the default of fast-check.
fc.configureGlobal({ seed: SEED, numRuns: runs(100), includeErrorInReport: true });
