import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { runs } from '../../../test/support/properties.ts';
import { forcedPairs, type Options } from './forced-pairs.ts';

/** Every way to give each candidate a claimant of its own. */
function* assignments(options: Options, taken: readonly number[] = []): Generator<readonly number[]> {
  const claimants = options[taken.length];
  if (!claimants) return yield taken;
  for (const claimant of claimants) if (!taken.includes(claimant)) yield* assignments(options, [...taken, claimant]);
}

/** The candidates of one connected set, by trial. */
function forcedByTrial(options: Options): readonly (number | undefined)[] {
  const all = [...assignments(options)];
  return options.map((_, candidate) => {
    const claimants = new Set(all.map((assignment) => assignment[candidate]));
    return claimants.size === 1 ? [...claimants][0] : undefined;
  });
}

const graph = fc
  .integer({ min: 1, max: 6 })
  .chain((claimants) =>
    fc.array(fc.uniqueArray(fc.nat({ max: claimants - 1 }), { maxLength: claimants }), { minLength: 1, maxLength: 6 }),
  );

describe('forcedPairs', () => {
  test('finds exactly the pairs that are in every assignment', () => {
    fc.assert(
      fc.property(graph, (options) => {
        // A last candidate with all claimants would change the answer, so that connected sets are compared one by one.
        for (const set of setsOf(options)) {
          const part = set.map((candidate) => options[candidate] ?? []);
          const forced = forcedPairs(options);
          assert.deepEqual(
            set.map((candidate) => forced[candidate]),
            forcedByTrial(part),
          );
        }
      }),
      { numRuns: runs(2_000) },
    );
  });

  test('resolves a chain in which only the end is certain', () => {
    assert.deepEqual(forcedPairs([[0, 1], [1, 2], [2]]), [0, 1, 2]);
  });

  test('leaves equal candidates open, and resolves the others of their set', () => {
    assert.deepEqual(
      forcedPairs([
        [0, 1],
        [0, 1],
        [1, 2],
      ]),
      [undefined, undefined, 2],
    );
  });

  test('leaves a candidate open that a claimant without a candidate can have as well', () => {
    assert.deepEqual(forcedPairs([[0, 1]]), [undefined]);
  });

  test('leaves all candidates of a set open when one of them cannot be anybody’s', () => {
    assert.deepEqual(forcedPairs([[0], [0], [1]]), [undefined, undefined, 1]);
  });

  test('answers for hundreds of candidates at once, and leaves a larger set open', () => {
    const chain = (size: number) => Array.from({ length: size }, (_, n) => (n === size - 1 ? [n] : [n, n + 1]));
    assert.deepEqual(forcedPairs(chain(300)), [...Array(300).keys()]);
    assert.deepEqual(new Set(forcedPairs(chain(301))), new Set([undefined]));
    assert.deepEqual(
      new Set(forcedPairs(Array.from({ length: 300 }, () => [...Array(300).keys()]))),
      new Set([undefined]),
    );
  });
});

/** By repeated merging, unlike the function under test. */
function setsOf(options: Options): number[][] {
  let sets = options.map((claimants, candidate) => ({ candidates: [candidate], claimants: new Set(claimants) }));
  for (let merged = true; merged; ) {
    merged = false;
    for (const [at, one] of sets.entries()) {
      const other = sets.slice(at + 1).find(({ claimants }) => !claimants.isDisjointFrom(one.claimants));
      if (!other) continue;
      one.candidates.push(...other.candidates);
      for (const claimant of other.claimants) one.claimants.add(claimant);
      sets = sets.filter((set) => set !== other);
      merged = true;
      break;
    }
  }
  return sets.map(({ candidates }) => candidates);
}
