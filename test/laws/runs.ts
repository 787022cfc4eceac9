/** Runs a property 2,000 times with `LAWS_RUNS=1`, or a fraction of that. Seed and factor come from `test/support/properties.ts`. */
import fc from 'fast-check';
import { runs } from '../support/properties.ts';

const RUNS = 2_000;

/** `share`: fraction of these runs, for properties that are slow or less important. */
export function law<T>(values: fc.Arbitrary<T>, holds: (value: T) => void, share = 1): void {
  fc.assert(fc.property(values, holds), optionsFor(share));
}

export async function asyncLaw<T>(
  values: fc.Arbitrary<T>,
  holds: (value: T) => Promise<void>,
  share = 1,
): Promise<void> {
  await fc.assert(fc.asyncProperty(values, holds), optionsFor(share));
}

const optionsFor = (share: number) => ({ numRuns: runs(RUNS * share) });
