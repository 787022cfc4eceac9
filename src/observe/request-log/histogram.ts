/**
 * Histograms of times in logarithmic buckets. They can be added, so percentiles hold over any range, within a quarter
 * of their value.
 */

const LOWEST_MS = 0.1;
const BUCKETS_PER_DOUBLING = 3;
const DOUBLINGS = 24;

/** Lower bounds of the buckets 1 and above, from 0.1 ms to 28 minutes. Bucket 0 is what is faster. */
export const BUCKET_BOUNDS_MS: readonly number[] = Array.from(
  { length: BUCKETS_PER_DOUBLING * DOUBLINGS + 1 },
  (_, n) => LOWEST_MS * 2 ** (n / BUCKETS_PER_DOUBLING),
);

export const HIGHEST_BUCKET = BUCKET_BOUNDS_MS.length;

/** Decimal digits of the count of one bucket in a packed histogram: a million million calls. */
const COUNT_DIGITS = 12;

/** One call of each bucket, packed: what the roll-up adds up. */
export const PACKED_CALLS: readonly string[] = Array.from(
  { length: HIGHEST_BUCKET + 1 },
  (_, bucket) => `1${'0'.repeat(COUNT_DIGITS * bucket)}`,
);

/** The bucket of a time: the number of bounds that it has reached. */
export function bucketOf(ms: number): number {
  let [low, high] = [0, BUCKET_BOUNDS_MS.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((BUCKET_BOUNDS_MS[middle] ?? 0) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** `counts[n]` calls are in bucket n; absent means none. */
export function packHistogram(counts: readonly (number | undefined)[]): string {
  let packed = '';
  for (let bucket = counts.length - 1; bucket >= 0; bucket -= 1)
    packed += String(counts[bucket] ?? 0).padStart(packed === '' ? 0 : COUNT_DIGITS, '0');
  return packed === '' ? '0' : packed;
}

/**
 * The counts by bucket of a packed histogram, or of the sum of several. Buckets above the last one with calls are
 * absent.
 */
export function unpackHistogram(packed: string): number[] {
  const counts: number[] = [];
  for (let end = packed.length; end > 0; end -= COUNT_DIGITS)
    counts.push(Number(packed.slice(Math.max(0, end - COUNT_DIGITS), end)));
  return counts;
}

/** `counts[n]` calls are in bucket n. Null without a call. */
export function percentileMs(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let rest = share * total;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && rest <= count) return rounded(within(bucket, rest / count));
    rest -= count;
  }
  return rounded(within(counts.length - 1, 1));
}

/** Between the bounds of the bucket, in proportion to the logarithm. */
function within(bucket: number, share: number): number {
  const upper = BUCKET_BOUNDS_MS[bucket] ?? (BUCKET_BOUNDS_MS.at(-1) ?? 0) * 2;
  if (bucket === 0) return upper * share;
  const lower = BUCKET_BOUNDS_MS[bucket - 1] ?? LOWEST_MS;
  return lower * (upper / lower) ** share;
}

const DIGITS = 3;
const rounded = (ms: number): number => Number(ms.toPrecision(DIGITS));
