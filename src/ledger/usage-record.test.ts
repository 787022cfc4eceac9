import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usageRecord } from '../../test/support/ledger-process.ts';
import { chargeOf, decodeRecord, encodeRecord, invalidUsage, newRecordId } from './usage-record.ts';

const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1 };

test('a record survives its text', () => {
  const record = usageRecord('ann', 2n ** 49n, { model: 'ü\n"', priceId: null });
  assert.deepEqual(decodeRecord(encodeRecord(record)), record);
  const priced = usageRecord('ann', 0n, { priceId: 2n ** 62n });
  assert.deepEqual(decodeRecord(encodeRecord(priced)), priced);
});

test('ids rise and are not repeated', () => {
  const ids = Array.from({ length: 1000 }, newRecordId);
  assert.deepEqual(ids.toSorted(), ids);
  assert.equal(new Set(ids).size, ids.length);
});

test('numbers that only a fault explains are never charged', () => {
  const faulty = [
    usageRecord('ann', 5n, { usage: { ...usage, input: -1 } }),
    usageRecord('ann', 5n, { usage: { ...usage, output: 1.5 } }),
    usageRecord('ann', 5n, { usage: { ...usage, reasoning: 1e9 + 1 } }),
    usageRecord('ann', 5n, { usage: { ...usage, cacheRead: Number.NaN } }),
    usageRecord('ann', 5n, { usage: { ...usage, images: { '1x1/low': -2 } } }),
    usageRecord('ann', 5n, { images: -1 }),
    usageRecord('ann', -5n),
    usageRecord('ann', 10n ** 15n + 1n),
    usageRecord('ann', 5n, { at: 0 }),
    usageRecord('ann', 5n, { at: Number.NaN }),
  ];
  for (const record of faulty) {
    assert.notEqual(invalidUsage(record), undefined);
    assert.equal(chargeOf(record), 0n);
    // Also after it went through the journal, where what is no number is written as null.
    assert.notEqual(invalidUsage(decodeRecord(encodeRecord(record))), undefined);
  }
  assert.equal(invalidUsage(usageRecord('ann', 5n, { usage: { ...usage, input: 1e9 } })), undefined);
});
