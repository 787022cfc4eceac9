/** How often a law is tried. `LAWS_RUNS` tries harder, `LAWS_SEED` repeats a failure, whose seed is in its message. */
import fc from 'fast-check';
import { runs } from '../support/properties.ts';

const RUNS = 2_000;

/** `share`: of the usual number of tries, for laws that cost more or matter less. */
export function law<T>(values: fc.Arbitrary<T>, holds: (value: T) => void, share = 1): void {
  fc.assert(fc.property(values, holds), optionsFor(share));
}

/** The same for what takes a connection to find out. */
export async function laterLaw<T>(
  values: fc.Arbitrary<T>,
  holds: (value: T) => Promise<void>,
  share = 1,
): Promise<void> {
  await fc.assert(fc.asyncProperty(values, holds), optionsFor(share));
}

const optionsFor = (share: number) => ({ numRuns: runs(RUNS * share) });
