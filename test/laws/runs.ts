/** How often a law is tried. `LAWS_RUNS` tries harder, `LAWS_SEED` repeats a failure, whose seed is in its message. */
import fc from 'fast-check';

const RUNS = Number(process.env.LAWS_RUNS ?? 2_000);
const SEED = process.env.LAWS_SEED === undefined ? {} : { seed: Number(process.env.LAWS_SEED) };

/** `share`: of the usual number of tries, for laws that cost more or matter less. */
export function law<T>(values: fc.Arbitrary<T>, holds: (value: T) => void, share = 1): void {
  fc.assert(fc.property(values, holds), {
    numRuns: Math.max(1, Math.round(RUNS * share)),
    includeErrorInReport: true,
    ...SEED,
  });
}
