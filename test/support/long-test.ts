/**
 * What `npm test` leaves out: tests of large bodies, many rows and long waits, and further cases of a matrix. The same
 * capability has a shorter test there. `npm run test:all` and `npm test -- FILE` run everything.
 */
import { describe, test } from 'node:test';

const IS_SHORT = process.env.TEST_LONG === 'off';

const leaveOut = (() => Promise.resolve()) as typeof test;

export const longTest: typeof test = IS_SHORT ? leaveOut : test;
export const longSuite: typeof describe = IS_SHORT ? leaveOut : describe;

/** A number of rounds, callers or rows, of which `npm test` has `few`. */
export const fewer = (all: number, few: number): number => (IS_SHORT ? Math.min(all, few) : all);

/** Where the next choice begins, so that the choices of a file cover different cases. */
let turn = 0;

/** All cases of a matrix, of which `npm test` has `few`. */
export function someOf<T>(cases: readonly T[], few: number): readonly T[] {
  if (!IS_SHORT || few >= cases.length) return cases;
  const first = turn++;
  return cases.filter((_, n) => (n - first) % Math.ceil(cases.length / few) === 0);
}
