import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatNanos, parseNanos, parsePpm } from './money.ts';

test('parseNanos converts decimal text exactly', () => {
  assert.equal(parseNanos('1.25'), 1_250_000_000n);
  assert.equal(parseNanos('0.000000001'), 1n);
  assert.equal(parseNanos('-3'), -3_000_000_000n);
  assert.equal(parseNanos('999999999999.999999999'), 999_999_999_999_999_999_999n);
  assert.equal(parseNanos('0.1'), 100_000_000n, 'not representable as a binary fraction');
});

test('parseNanos rejects everything but plain decimals of at most nine places', () => {
  const invalid = [
    '',
    ' 1',
    '1 ',
    '1.',
    '.5',
    '1,5',
    '1e3',
    '+1',
    '--1',
    '0x1',
    '1.0000000001',
    'NaN',
    '1_000',
    '1\n',
    '１',
    '1000000000000',
  ];
  for (const text of invalid) assert.equal(parseNanos(text), undefined, JSON.stringify(text));
});

test('formatNanos prints no trailing zeros, and parseNanos reads the same amount back', () => {
  assert.deepEqual([0n, 1n, 1_250_000_000n, -500_000_000n, 10n ** 12n].map(formatNanos), [
    '0',
    '0.000000001',
    '1.25',
    '-0.5',
    '1000',
  ]);
  const limit = 10n ** 21n - 1n;
  fc.assert(fc.property(fc.bigInt({ min: -limit, max: limit }), (nanos) => parseNanos(formatNanos(nanos)) === nanos));
});

test('parsePpm rejects negative factors and factors finer than one millionth', () => {
  assert.deepEqual(['1', '1.5', '0', '0.000001'].map(parsePpm), [1_000_000, 1_500_000, 0, 1]);
  for (const text of ['0.0000001', '-1', 'x', '']) assert.equal(parsePpm(text), undefined, text);
});
