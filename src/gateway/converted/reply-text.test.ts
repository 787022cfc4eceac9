import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf, LINEAR_GROWTH } from '../../../test/support/cpu-time.ts';
import { exceedsText } from './reply-text.ts';

const LIMIT = 100_000;
const exceeds = (value: unknown): boolean => exceedsText(Buffer.from(JSON.stringify(value, null, 1)), LIMIT);

test('long texts exceed the limit, one by one and together, and pictures do not', () => {
  const long = 'a'.repeat(LIMIT);
  assert.equal(exceeds({ text: 'a' }), false);
  assert.equal(exceeds({ text: long }), true);
  assert.equal(exceeds({ parts: Array(11).fill({ text: 'a'.repeat(10_000) }) }), true);
  assert.equal(exceeds({ parts: Array(3).fill({ inlineData: { data: long } }), text: 'a' }), false);
  assert.equal(exceeds({ inlineData: { data: long }, text: long }), true);
});

test('quotes and names inside a text end nothing', () => {
  const hidden = `"data":"${'a'.repeat(LIMIT)}\\`;
  assert.equal(exceeds({ text: hidden }), true);
  assert.equal(exceeds({ data: '"'.repeat(LIMIT) }), false);
});

test('the time is linear in the length, also of escapes', () => {
  for (const piece of ['a', '"', '\\'])
    assert.ok(
      growthOf((size) => {
        const json = Buffer.from(JSON.stringify({ data: piece.repeat(size) }));
        return () => exceedsText(json, LIMIT);
      }, 20_000) < LINEAR_GROWTH,
      piece,
    );
});
