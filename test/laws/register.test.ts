import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REGISTER } from './register.ts';
import { assertExists } from './test-reference.ts';
import { checkVector } from './vector.ts';

/** Lossy points that are known; a new one gets the next number. */
const POINTS = 61;

test('no point of the register is missing', () => {
  assert.deepEqual(
    Object.keys(REGISTER).map(Number),
    Array.from({ length: POINTS }, (_, n) => n + 1),
  );
});

for (const [number, { story, ways, proofs }] of Object.entries(REGISTER)) {
  test(`register row ${number}: ${story}`, () => {
    for (const proof of proofs) {
      if ('title' in proof) assertExists(proof);
      else checkVector(proof);
    }
    const proven = new Set(
      proofs.map((proof) => ('title' in proof ? 'over HTTP' : `${proof.client} over ${proof.upstream}`)),
    );
    if (!proven.has('over HTTP'))
      assert.deepEqual(
        ways.filter((way) => !proven.has(way)),
        [],
        'every conversion that it concerns is proven',
      );
  });
}
