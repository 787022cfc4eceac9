import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatNanos, parseNanos, parsePpm } from './money.ts';

test('decimal text becomes nano-dollars exactly', () => {
  assert.equal(parseNanos('1.25'), 1_250_000_000n);
  assert.equal(parseNanos('0.000000001'), 1n);
  assert.equal(parseNanos('-3'), -3_000_000_000n);
  assert.equal(parseNanos('999999999999.999999999'), 999_999_999_999_999_999_999n);
  assert.equal(parseNanos('0.1'), 100_000_000n, 'which no binary fraction is');
});

test('what is no plain decimal of at most nine places is refused, not rounded', () => {
  const strange = [
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
  for (const text of strange) assert.equal(parseNanos(text), undefined, JSON.stringify(text));
});

test('amounts are printed without needless zeros, and read back as they were', () => {
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

test('a factor is parts per million; finer or negative ones are refused', () => {
  assert.deepEqual(['1', '1.5', '0', '0.000001'].map(parsePpm), [1_000_000, 1_500_000, 0, 1]);
  for (const text of ['0.0000001', '-1', 'x', '']) assert.equal(parsePpm(text), undefined, text);
});
