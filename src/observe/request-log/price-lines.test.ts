import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costOf, parseRates } from '../../ledger/index.ts';
import { providerBill } from './price-lines.ts';

test('a call that was given away has a margin, and no share of nothing', () => {
  const usage = { input: 1_000, cacheRead: 0, cacheWrite: 0, output: 0 };
  const billed = costOf(usage, parseRates({ input: '1' }), [1_000_000n]);
  const bill = (nanos: bigint) => providerBill(billed, { ppm: null, costNanos: billed.nanos, nanos });
  assert.deepEqual([bill(0n).margin, bill(0n).margin_percent], ['-0.001', null]);
  assert.deepEqual([bill(4_000_000n).margin, bill(4_000_000n).margin_percent], ['0.003', 75]);
});
