import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SHOWN } from './situations.ts';
import { assertExists } from './test-reference.ts';
import { readPairs } from './vector.ts';

/** Situations that a conversion must master, by number. */
const SITUATIONS = 90;

test('every situation is recorded or shown by a test', () => {
  const known = new Set([...readPairs().flatMap(({ refs }) => refs), ...Object.keys(SHOWN).map(Number)]);
  const missing = Array.from({ length: SITUATIONS }, (_, n) => n + 1).filter((number) => !known.has(number));
  assert.deepEqual(missing, []);
});

for (const [number, proofs] of Object.entries(SHOWN)) {
  test(`situation ${number} is shown by a test of that name`, () => {
    assert.ok(proofs.length > 0);
    for (const proof of proofs) assertExists(proof);
  });
}
