import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BUCKET_BOUNDS_MS,
  bucketOf,
  HIGHEST_BUCKET,
  PACKED_CALLS,
  packHistogram,
  percentileMs,
  unpackHistogram,
} from './histogram.ts';

/** As width_bucket of PostgreSQL does. */
const histogramOf = (values: readonly number[]): number[] => {
  const counts = Array<number>(HIGHEST_BUCKET + 1).fill(0);
  for (const value of values) {
    const bucket = BUCKET_BOUNDS_MS.filter((bound) => value >= bound).length;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return counts;
};

test('percentileMs is within a quarter of the exact percentile, from microseconds to minutes', () => {
  for (const scale of [1, 40, 2_500, 300_000]) {
    const values = Array.from({ length: 2_000 }, (_, n) => scale * (0.2 + ((n * 7919) % 2_000) / 1_000));
    const sorted = values.toSorted((a, b) => a - b);
    for (const share of [0.5, 0.95, 0.99]) {
      const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
      const estimate = percentileMs(histogramOf(values), share) ?? 0;
      assert.ok(Math.abs(estimate / exact - 1) < 0.25, `${share} of ${scale}: ${estimate}, exact ${exact}`);
    }
  }
});

test('histograms that are added have the percentiles of all values together', () => {
  const [fast, slow] = [Array(90).fill(1), Array(10).fill(1_000)] as [number[], number[]];
  const added = histogramOf(fast).map((count, n) => count + (histogramOf(slow)[n] ?? 0));
  assert.deepEqual(added, histogramOf([...fast, ...slow]));
  assert.ok((percentileMs(added, 0.5) ?? 0) < 1.3 && (percentileMs(added, 0.95) ?? 0) > 900);
  assert.equal(percentileMs(histogramOf([]), 0.5), null);
  assert.ok((percentileMs(histogramOf([10 ** 9]), 0.5) ?? 0) > 1_000_000, 'longer than the last bound');
});

test('unpackHistogram returns the counts of every bucket of packed calls that were added', () => {
  const calls = [0, 0, 3, 3, 3, HIGHEST_BUCKET].map((bucket) => BigInt(PACKED_CALLS[bucket] ?? 0));
  const counts = unpackHistogram(String(calls.reduce((sum, call) => sum + call)));
  const expected = Array<number>(HIGHEST_BUCKET + 1).fill(0);
  Object.assign(expected, { 0: 2, 3: 3, [HIGHEST_BUCKET]: 1 });
  assert.deepEqual(counts, expected);
  assert.equal(percentileMs(unpackHistogram('0'), 0.5), null);
  assert.deepEqual(unpackHistogram(String(999_999_999_999n * BigInt(PACKED_CALLS[1] ?? 0))), [0, 999_999_999_999]);
});

test('packHistogram is the sum of the packed calls, and bucketOf the bucket that PostgreSQL finds', () => {
  const values = [0, 0.05, 0.1, 0.2, 1, 12.5, 999, 1e5, 1e9, ...BUCKET_BOUNDS_MS];
  const sparse: number[] = [];
  for (const value of values) {
    const bucket = bucketOf(value);
    sparse[bucket] = (sparse[bucket] ?? 0) + 1;
  }
  assert.deepEqual(unpackHistogram(packHistogram(sparse)), histogramOf(values));
  const packed = values.reduce((sum, value) => sum + BigInt(PACKED_CALLS[bucketOf(value)] ?? 0), 0n);
  assert.equal(packHistogram(sparse), String(packed));
  assert.equal(packHistogram([]), '0');
});
