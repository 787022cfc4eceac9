import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usageRecord } from '../../test/support/ledger-process.ts';
import { decodeRecord, encodeRecord, newRecordId, type UsageRecord } from './usage-record.ts';

const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1 };

test('decodeRecord() restores what encodeRecord() wrote', () => {
  const record = usageRecord('ann', 2n ** 49n, { model: 'ü\n"', priceId: null });
  assert.deepEqual(decodeRecord(encodeRecord(record)), record);
  const priced = usageRecord('ann', 0n, { priceId: 2n ** 62n });
  assert.deepEqual(decodeRecord(encodeRecord(priced)), priced);
});

test('newRecordId() returns ascending, unique ids', () => {
  const ids = Array.from({ length: 1000 }, newRecordId);
  assert.deepEqual(ids.toSorted(), ids);
  assert.equal(new Set(ids).size, ids.length);
});

test('createUsageRecord() neither charges nor accepts impossible values', () => {
  const cases: readonly (readonly [UsageRecord, string])[] = [
    [usageRecord('ann', 5n, { usage: { ...usage, input: -1 } }), 'input is negative'],
    [usageRecord('ann', 5n, { usage: { ...usage, output: 1.5 } }), 'output is not a whole number'],
    [usageRecord('ann', 5n, { usage: { ...usage, reasoning: 1e9 + 1 } }), 'reasoning is beyond 10^9'],
    [usageRecord('ann', 5n, { usage: { ...usage, cacheRead: Number.NaN } }), 'cacheRead is not a whole number'],
    [usageRecord('ann', 5n, { usage: { ...usage, fetches: -1 } }), 'fetches is negative'],
    [usageRecord('ann', 5n, { usage: { ...usage, images: { '1x1/low': -2 } } }), 'images of 1x1/low are negative'],
    [usageRecord('ann', 5n, { usage: { ...usage, invalid: 'total is too small' } }), 'total is too small'],
    [usageRecord('ann', 5n, { images: -1 }), 'images are negative'],
    [usageRecord('ann', -5n), 'the cost is out of bounds'],
    [usageRecord('ann', 10n ** 15n + 1n), 'the cost is out of bounds'],
    [usageRecord('ann', 5n, { at: Date.UTC(2020, 0) - 1 }), 'the time is out of bounds'],
    [usageRecord('ann', 5n, { at: Date.UTC(2100, 0) }), 'the time is out of bounds'],
    [usageRecord('ann', 5n, { at: Number.NaN }), 'the time is out of bounds'],
  ];
  for (const [record, reason] of cases) {
    assert.equal(record.invalid, reason);
    assert.equal(record.charge, 0n);
    // Also after the journal, where NaN is written as null.
    const restored = decodeRecord(encodeRecord(record));
    assert.deepEqual([restored.invalid, restored.charge], [reason, 0n]);
  }
});

test('createUsageRecord() charges nothing for an impossible count of any kind', () => {
  for (const name of [
    ...['input', 'cacheRead', 'cacheReadAudio', 'cacheReadImage', 'cacheWrite', 'cacheWriteLong', 'toolPrompt'],
    ...['longestPrompt', 'inputAudio', 'inputImage', 'inputVideo', 'audioSeconds', 'output', 'reasoning'],
    ...['outputAudio', 'outputImage', 'outputVideo', 'citations', 'searches', 'fetches', 'fileSearches'],
    'cacheHours',
  ])
    assert.equal(usageRecord('ann', 5n, { usage: { ...usage, [name]: -1 } }).invalid, `${name} is negative`);
});

test('createUsageRecord() charges values at the limits', () => {
  const records = [
    usageRecord('ann', 0n),
    usageRecord('ann', 10n ** 15n),
    usageRecord('ann', 5n, { usage: { ...usage, input: 1e9, searches: 0 } }),
    usageRecord('ann', 5n, { at: Date.UTC(2020, 0) }),
    usageRecord('ann', 5n, { at: Date.UTC(2100, 0) - 1 }),
  ];
  for (const record of records) {
    assert.equal(record.invalid, undefined);
    assert.equal(record.charge, record.nanos);
  }
});
