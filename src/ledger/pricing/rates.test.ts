import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runs } from '../../../test/support/properties.ts';
import type { MeteredUsage } from '../usage-record.ts';
import { parseRates, type Rates } from './parse-rates.ts';
import { costOf, maxCostOf, videoCost, videoRateOf } from './rates.ts';

const NONE: MeteredUsage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
const ONE = 1_000_000n;
const cost = (usage: Partial<MeteredUsage>, rates: object, ...ppm: bigint[]): bigint =>
  costOf({ ...NONE, ...usage }, parseRates(rates), ppm).nanos;

test('costOf() bills a million tokens at their rate', () => {
  assert.equal(cost({ input: 1_000_000 }, { input: '1.25' }), 1_250_000_000n);
  assert.equal(cost({ input: 1_000_000, output: 2_000_000 }, { input: '1.25', output: '10' }), 21_250_000_000n);
});

test('costOf() bills cached input once, at its own rate or at the rate of input', () => {
  const usage = { input: 1000, cacheRead: 600, cacheWrite: 300 };
  assert.equal(cost(usage, { input: '3', cached_input: '0.3', cache_write: '3.75' }), 300_000n + 180_000n + 1_125_000n);
  assert.equal(cost(usage, { input: '3' }), 3_000_000n);
  // An upstream whose input does not include cached tokens: nothing is billed twice or below zero.
  assert.equal(cost({ input: 100, cacheRead: 600 }, { input: '3', cached_input: '0.3' }), 180_000n);
});

test('costOf() bills long cache writes at their own rate, at most all cache writes', () => {
  const rates = { input: '3', cache_write: '3.75', cache_write_1h: '6' };
  assert.equal(cost({ input: 1000, cacheWrite: 1000, cacheWriteLong: 400 }, rates), 2_250_000n + 2_400_000n);
  assert.equal(cost({ input: 1000, cacheWrite: 1000, cacheWriteLong: 5000 }, rates), 6_000_000n);
  assert.equal(cost({ input: 10, cacheWrite: 10, cacheWriteLong: 10 }, { input: '3', cache_write: '4' }), 40_000n);
});

test('costOf() bills a tier at its own rates or with its multiplier, and other tiers at the standard rates', () => {
  const rates = {
    input: '1',
    cached_input: '0.1',
    per_search: '0.01',
    tiers: { priority: { multiplier: '1.5' }, flex: { input: '0.5' } },
  };
  const usage = { input: 1000, cacheRead: 500, searches: 1 };
  const search = 10_000_000n;
  assert.equal(cost(usage, rates), 550_000n + search);
  assert.equal(cost({ ...usage, tier: 'scale' }, rates), 550_000n + search);
  assert.equal(cost({ ...usage, tier: 'priority' }, rates), ((550_000n + search) * 3n) / 2n);
  assert.equal(cost({ ...usage, tier: 'flex' }, rates), 500_000n + search, 'cached input as input of the tier');
});

test('a tier with rates of its own keeps every price per piece', () => {
  const pieces = { per_search: '1', per_file_search: '2', per_fetch: '4', per_request: '8', per_audio_hour: '3600' };
  const rates = { input: '1', ...pieces, per_image: { '*': '16' }, tiers: { flex: { input: '0.5' } } };
  const usage = { searches: 1, fileSearches: 1, fetches: 1, audioSeconds: 32, images: { '1x1': 1 }, tier: 'flex' };
  assert.equal(cost(usage, rates), 63_000_000_000n);
});

test('a multiplier of a tier makes no rate free', () => {
  const rates = { input: '0.000000001', tiers: { batch: { multiplier: '0.5' } } };
  assert.equal(cost({ input: 1_000_000, tier: 'batch' }, rates), 1n);
});

test('parseRates() rejects tiers without a price', () => {
  for (const tiers of ['2', null, { priority: '2' }, { priority: { multiplier: 2 } }, { priority: { inptu: '1' } }])
    assert.throws(() => parseRates({ input: '1', tiers }), /rates/);
});

test('costOf() bills reasoning, audio and images separately only where they have a rate', () => {
  const usage = { output: 1000, reasoning: 400, outputAudio: 100, input: 1000, inputAudio: 300, inputImage: 200 };
  assert.equal(cost(usage, { input: '1', output: '10' }), 11_000_000n);
  assert.equal(
    cost(usage, { output: '10', reasoning: '20', audio_output: '100' }),
    5_000_000n + 8_000_000n + 10_000_000n,
  );
  assert.equal(cost(usage, { input: '1', audio_input: '10', image_input: '2' }), 500_000n + 3_000_000n + 400_000n);
  // The part is larger than the total.
  assert.equal(cost({ output: 100, reasoning: 500 }, { output: '10', reasoning: '20' }), 2_000_000n);
});

test('costOf() bills images and searches per piece, and such images not by tokens', () => {
  const rates = { output: '10', per_image: { '1024x1024/high': '0.17', '512x512': '0.02' }, per_search: '0.01' };
  const images = { '1024x1024/high': 2, '512x512/low': 1 };
  assert.equal(cost({ images, output: 1000, outputImage: 1000, searches: 3 }, rates), 360_000_000n + 30_000_000n);
  // A kind that is not in the table costs the rate of `*`, or else the highest rate.
  assert.equal(cost({ images: { '9x9/rare': 1 } }, rates), 170_000_000n);
  assert.equal(cost({ images: { '9x9/rare': 1 } }, { per_image: { '*': '0.05', '1x1': '1' } }), 50_000_000n);
  assert.equal(
    cost({ output: 1000, outputImage: 800 }, { output: '10', image_output: '40' }),
    2_000_000n + 32_000_000n,
  );
});

test('maxCostOf() counts an image whose size or quality the provider chooses as the dearest that it may choose', () => {
  const rates = parseRates({
    per_image: { '*': '0.05', '1024x1024': '0.1', '1024x1024/high': '0.2', '2048x2048': '0.4' },
  });
  const most = (kind: string) => maxCostOf({ maxInput: 0, maxOutput: 0, images: { [kind]: 2 } }, rates, []);
  assert.deepEqual(['1024x1024/low', '1024x1024/auto', 'auto/low', 'auto/auto', '9x9/low'].map(most), [
    200_000_000n,
    400_000_000n,
    800_000_000n,
    800_000_000n,
    100_000_000n,
  ]);
});

test('costOf() bills reported image tokens by their rate, and images per piece where none are reported', () => {
  const rates = { image_output: '40', per_image: { '*': '0.17' } };
  const images = { '1024x1024/high': 2 };
  assert.equal(cost({ images, output: 1000, outputImage: 1000 }, rates), 40_000_000n);
  assert.equal(cost({ images, output: 1000, outputImage: 1000, estimated: true }, rates), 340_000_000n);
  assert.equal(cost({ images }, rates), 340_000_000n);
});

test('costOf() rounds up once, after all multipliers', () => {
  assert.equal(cost({ input: 1 }, { input: '0.000000001' }), 1n);
  assert.equal(cost({ input: 1, output: 1 }, { input: '0.0000005', output: '0.0000005' }), 1n);
  assert.equal(cost({ input: 1_000_000 }, { input: '1' }, 1_500_000n, 500_000n), 750_000_000n);
  assert.equal(cost({ input: 3 }, { input: '1' }, 333_333n, 1n), 1n);
  assert.equal(cost({ input: 1_000_000 }, { input: '1' }, 0n), 0n);
});

test('costOf() bills zero and invalid counts as zero', () => {
  const rates = { input: '1', output: '1', per_search: '1' };
  assert.equal(cost({}, rates), 0n);
  assert.equal(cost({ input: -5, output: Number.NaN, searches: 1.5 }, rates), 0n);
});

test('costOf() returns the count and rate of every line', () => {
  const { lines } = costOf(
    { ...NONE, input: 10, cacheRead: 4, output: 3 },
    parseRates({ input: '1', output: '2' }),
    [],
  );
  assert.deepEqual(
    lines.map(({ part, count, rate }) => [part, count, rate]),
    [
      ['input', 6n, 1_000_000_000n],
      ['cached_input', 4n, 1_000_000_000n],
      ['output', 3n, 2_000_000_000n],
    ],
  );
});

test('parseRates() rejects rates that the configuration rejects', () => {
  for (const invalid of [
    null,
    'x',
    { input: 1.5 },
    { input: '-1' },
    { input: '1e3' },
    { what: '1' },
    { per_image: '1' },
  ])
    assert.throws(() => parseRates(invalid));
});

test('videoRateOf() returns the rate of a resolution, or the one rate for all', () => {
  const rates = parseRates({ video: { '720p': '7', '1080p': '9' }, video_with_video_input: '4.3' });
  assert.equal(videoRateOf(rates, '720p', false), 7_000_000_000n);
  assert.equal(videoRateOf(rates, '4k', false), 9_000_000_000n);
  assert.equal(videoRateOf(rates, '720p', true), 4_300_000_000n);
  assert.equal(videoRateOf(parseRates({}), '720p', true), undefined);
  assert.equal(videoCost(1_000_001, 7_000_000_000n, [ONE, ONE]).nanos, 7_000_007_000n);
});

// ---------------------------------------------------------------- properties

const tokens = fc.nat({ max: 1_000_000_000 });
/** Usage whose parts fit into their totals. */
const validUsage: fc.Arbitrary<MeteredUsage> = fc
  .tuple(...Array.from({ length: 9 }, () => fc.nat({ max: 100_000_000 })), fc.nat({ max: 100 }), fc.nat({ max: 20 }))
  .map(
    ([
      text = 0,
      read = 0,
      short = 0,
      long = 0,
      audioIn = 0,
      imageIn = 0,
      out = 0,
      think = 0,
      audioOut = 0,
      find = 0,
      images = 0,
    ]) => ({
      input: text + read + short + long + audioIn + imageIn,
      cacheRead: read,
      cacheWrite: short + long,
      cacheWriteLong: long,
      inputAudio: audioIn,
      inputImage: imageIn,
      output: out + think + audioOut,
      reasoning: think,
      outputAudio: audioOut,
      searches: find,
      images: { '1024x1024/high': images },
    }),
  );
const anyUsage: fc.Arbitrary<MeteredUsage> = fc.record(
  {
    input: fc.oneof(tokens, fc.integer(), fc.double()),
    cacheRead: fc.oneof(tokens, fc.integer()),
    cacheWrite: fc.oneof(tokens, fc.integer()),
    output: fc.oneof(tokens, fc.double()),
    cacheWriteLong: tokens,
    reasoning: fc.integer(),
    inputAudio: tokens,
    inputImage: tokens,
    outputImage: tokens,
    searches: fc.double(),
  },
  { requiredKeys: ['input', 'cacheRead', 'cacheWrite', 'output'] },
);
const price = fc.bigInt({ min: 0n, max: 10n ** 13n });
const anyRates: fc.Arbitrary<Rates> = fc
  .record(
    {
      input: price,
      cached_input: price,
      cache_write: price,
      cache_write_1h: price,
      audio_input: price,
      image_input: price,
      output: price,
      reasoning: price,
      audio_output: price,
      image_output: price,
      per_search: price,
    },
    { requiredKeys: [] },
  )
  .chain((rates) =>
    fc
      .option(price)
      .map((piece) => (piece === null ? rates : { ...rates, per_image: new Map([['1024x1024/high', piece]]) })),
  );
const multipliers = fc.array(fc.bigInt({ min: 0n, max: 10_000_000n }), { maxLength: 3 });
const RUNS = { numRuns: runs(20_000) };

test('costOf() is never negative, whatever an upstream reports', () => {
  fc.assert(
    fc.property(anyUsage, anyRates, multipliers, (usage, rates, ppm) => {
      const { nanos, lines } = costOf(usage, rates, ppm);
      return (
        typeof nanos === 'bigint' && nanos >= 0n && lines.every((line) => line.count > 0n && line.femtoDollars >= 0n)
      );
    }),
    RUNS,
  );
});

test('costOf() is monotonic', () => {
  fc.assert(
    fc.property(
      validUsage,
      anyRates,
      multipliers,
      fc.nat({ max: 1e6 }),
      fc.nat({ max: 1e6 }),
      (usage, rates, ppm, i, o) => {
        const before = costOf(usage, rates, ppm).nanos;
        const more = { ...usage, input: usage.input + i, output: usage.output + o };
        return costOf(more, rates, ppm).nanos >= before && costOf(usage, rates, [...ppm, ONE + 1n]).nanos >= before;
      },
    ),
    RUNS,
  );
});

test('costOf() of two calls is the cost of their sum, up to rounding', () => {
  const sum = (a: MeteredUsage, b: MeteredUsage): MeteredUsage => {
    const both: Record<string, number> = {};
    for (const [name, value] of [...Object.entries(a), ...Object.entries(b)])
      if (typeof value === 'number') both[name] = (both[name] ?? 0) + value;
    const [key = ''] = Object.keys(a.images ?? {});
    return { ...NONE, ...both, images: { [key]: (a.images?.[key] ?? 0) + (b.images?.[key] ?? 0) } };
  };
  fc.assert(
    fc.property(validUsage, validUsage, anyRates, multipliers, (a, b, rates, ppm) => {
      const apart = costOf(a, rates, ppm).nanos + costOf(b, rates, ppm).nanos;
      const together = costOf(sum(a, b), rates, ppm).nanos;
      return apart - together === 0n || apart - together === 1n;
    }),
    RUNS,
  );
});

test('costOf() counts every token exactly once', () => {
  fc.assert(
    fc.property(validUsage, anyRates, (usage, rates) => {
      const { lines } = costOf(usage, rates, []);
      const counted = lines.filter(({ part }) => part !== 'search' && part !== 'image');
      return counted.reduce((total, line) => total + line.count, 0n) === BigInt(usage.input + usage.output);
    }),
    RUNS,
  );
});

test('costOf() never exceeds maxCostOf() for usage within the facts of the request', () => {
  fc.assert(
    fc.property(validUsage, anyRates, multipliers, (usage, rates, ppm) => {
      const facts = {
        maxInput: usage.input,
        maxOutput: usage.output,
        maxSearches: usage.searches ?? 0,
        images: usage.images ?? {},
      };
      return costOf(usage, rates, ppm).nanos <= maxCostOf(facts, rates, ppm);
    }),
    RUNS,
  );
});

test('maxCostOf() reserves the rates of audio only where there may be some', () => {
  const rates = parseRates({ input: '1', audio_input: '12', output: '2', audio_output: '24', per_audio_hour: '0.36' });
  const facts = { maxInput: 100, maxOutput: 10 };
  const silent = maxCostOf({ ...facts, readsAudio: false, writesAudio: false }, rates, []);
  assert.equal(silent, 100_000n + 20_000n);
  const heard = maxCostOf({ ...facts, readsAudio: true, writesAudio: false }, rates, []);
  // 10 seconds of audio at the price of an hour.
  assert.equal(heard, 1_200_000n + 1_000_000n + 20_000n);
  assert.equal(maxCostOf({ ...facts, readsAudio: false, writesAudio: true }, rates, []), 100_000n + 240_000n);
  assert.equal(maxCostOf(facts, rates, []), maxCostOf({ ...facts, readsAudio: true, writesAudio: true }, rates, []));
});

test('maxCostOf() rounds limits up, and treats none as zero', () => {
  const rates = parseRates({ input: '1', output: '2', per_search: '0.01' });
  assert.equal(maxCostOf({ maxInput: 201, maxOutput: 10 }, rates, []), 201_000n + 20_000n);
  assert.equal(maxCostOf({ maxInput: 200.5, maxOutput: 9.5 }, rates, []), 201_000n + 20_000n);
  assert.equal(maxCostOf({ maxInput: 0, maxOutput: 0, maxSearches: 1.5 }, rates, []), 20_000_000n);
  for (const piece of ['per_search', 'per_file_search', 'per_fetch'])
    assert.equal(
      maxCostOf({ maxInput: 0, maxOutput: 0, maxSearches: 2 }, parseRates({ [piece]: '0.01' }), []),
      20_000_000n,
      piece,
    );
  for (const huge of [1e17, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
    assert.ok(maxCostOf({ maxInput: 0, maxOutput: huge }, rates, []) > 10n ** 18n, 'a huge limit is not zero');
    assert.ok(maxCostOf({ maxInput: huge, maxOutput: 0 }, rates, []) > 10n ** 18n, 'a huge input is not zero');
  }
});

test('costOf() is exact up to the largest safe integer', () => {
  const count = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(count, price, multipliers, (output, rate, ppm) => {
      const exact = ppm.reduce((product, one) => product * one, BigInt(output) * rate);
      const unit = 10n ** BigInt(6 * (ppm.length + 1));
      const { nanos } = costOf({ ...NONE, output }, { output: rate }, ppm);
      // Rounded up: the smallest integer that is not below the exact cost.
      return nanos * unit >= exact && (nanos - 1n) * unit < exact;
    }),
    RUNS,
  );
});
