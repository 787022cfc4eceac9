/** Prices as providers have them: steps by the length of the prompt, cached media, time, and pieces. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runs } from '../../../test/support/properties.ts';
import type { MeteredUsage } from '../usage-record.ts';
import { parseRates } from './parse-rates.ts';
import { costOf, maxCostOf } from './rates.ts';

const NONE: MeteredUsage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
const cost = (usage: Partial<MeteredUsage>, rates: object) => costOf({ ...NONE, ...usage }, parseRates(rates), []);

const STEPPED = {
  input: '3',
  cached_input: '0.3',
  output: '15',
  per_search: '0.01',
  steps: [
    { above: 200_000, input: '6', cached_input: '0.6', output: '22.5' },
    { above: 400_000, input: '9' },
  ],
};

test('a step prices the whole call, from the first token above its length on', () => {
  assert.equal(cost({ input: 200_000, output: 1_000 }, STEPPED).nanos, 600_000_000n + 15_000_000n);
  assert.equal(cost({ input: 200_001, output: 1_000 }, STEPPED).nanos, 1_200_006_000n + 22_500_000n);
  const { nanos, above } = cost({ input: 500_000, cacheRead: 100_000, output: 1_000, searches: 1 }, STEPPED);
  // Rates that a step leaves out are those of the price, not of the step before.
  assert.equal(nanos, 3_600_000_000n + 30_000_000n + 15_000_000n + 10_000_000n);
  assert.equal(above, 400_000n);
  assert.equal(cost({ input: 1 }, STEPPED).above, undefined);
});

test('cached tokens count for the length of the prompt, and several requests by the longest of them', () => {
  assert.equal(cost({ input: 250_000, cacheRead: 249_000 }, STEPPED).above, 200_000n);
  assert.equal(cost({ input: 10, cacheRead: 249_000 }, STEPPED).above, 200_000n, 'reported beside the input');
  assert.equal(cost({ input: 300_000, longestPrompt: 150_000 }, STEPPED).nanos, 900_000_000n);
});

test('a tier multiplies the steps, or has its own', () => {
  const tiers = {
    priority: { multiplier: '2' },
    flex: { input: '1', output: '2', steps: [{ above: 10, input: '4' }] },
    batch: { multiplier: '0.5' },
  };
  const usage = { input: 300_000, output: 1_000 };
  const rates = { ...STEPPED, tiers };
  const plain = cost(usage, rates).nanos;
  assert.equal(cost({ ...usage, tier: 'priority' }, rates).nanos, plain * 2n);
  assert.equal(cost({ ...usage, tier: 'batch' }, rates).nanos, plain / 2n);
  assert.equal(cost({ ...usage, tier: 'flex' }, rates).nanos, 1_200_000_000n + 2_000_000n);
});

test('cached audio and images have rates of their own, and are not billed as uncached too', () => {
  const usage = {
    input: 1_000,
    cacheRead: 600,
    cacheReadAudio: 200,
    cacheReadImage: 100,
    inputAudio: 300,
    inputImage: 150,
  };
  const rates = { input: '1', cached_input: '0.1', audio_input: '10', image_input: '5', output: '0' };
  // 100 audio, 50 image and 250 other tokens are uncached.
  const uncached = 1_000_000n + 250_000n + 250_000n;
  assert.equal(cost(usage, rates).nanos, uncached + 60_000n);
  const separate = { ...rates, cached_audio_input: '1', cached_image_input: '0.5' };
  assert.equal(cost(usage, separate).nanos, uncached + 30_000n + 200_000n + 50_000n);
});

test('videos, sources, time, requests and tools are billed where they have a rate', () => {
  const usage = { input: 100, inputVideo: 60, output: 50, outputVideo: 20, citations: 40, fetches: 3, fileSearches: 2 };
  assert.equal(cost(usage, { input: '1', output: '2' }).nanos, 100_000n + 100_000n);
  const rates = { input: '1', video_input: '10', output: '2', video_output: '20', citation: '5' };
  assert.equal(cost(usage, rates).nanos, 40_000n + 600_000n + 60_000n + 400_000n + 200_000n);
  const pieces = { output: '0', per_fetch: '0.001', per_file_search: '0.0025', per_request: '0.005' };
  assert.equal(cost(usage, pieces).nanos, 3_000_000n + 5_000_000n + 5_000_000n);
  // 0.04 dollars an hour are 11.1 micro-dollars a second: rounded up, and once.
  const { nanos, lines } = cost({ audioSeconds: 1 }, { output: '0', per_audio_hour: '0.04' });
  assert.deepEqual([nanos, lines[0]?.femtoDollars], [11_112n, 11_111_111_112n]);
  assert.equal(cost({ audioSeconds: 90 }, { output: '0', per_audio_hour: '0.36' }).nanos, 9_000_000n);
});

test('admission reserves the highest step that the request can reach, and no higher one', () => {
  const rates = parseRates(STEPPED);
  const max = (tokens: number) => maxCostOf({ maxInput: tokens, maxOutput: 1_000 }, rates, []);
  assert.equal(max(200_000), 600_000_000n + 15_000_000n);
  assert.equal(max(200_001), 1_200_006_000n + 22_500_000n);
  // The dearest step of its input has the cheaper output: each is reserved as a whole.
  assert.equal(max(400_001), 3_600_009_000n + 15_000_000n);
});

const amount = fc.integer({ min: 0, max: 50_000_000 }).map((micros) => (micros / 1e6).toFixed(6));
const NAMES = [
  ...[
    'input',
    'cached_input',
    'cached_audio_input',
    'cached_image_input',
    'cache_write',
    'cache_write_1h',
    'audio_input',
  ],
  ...['image_input', 'video_input', 'output', 'reasoning', 'audio_output', 'video_output', 'citation', 'per_search'],
  ...['per_file_search', 'per_fetch', 'per_request', 'per_audio_hour', 'cache_hour'],
];
const flat = fc.dictionary(fc.constantFrom(...NAMES), amount);
const price = fc
  .record({
    base: flat,
    steps: fc.uniqueArray(fc.tuple(fc.nat({ max: 300_000 }), flat), { selector: ([above]) => above }),
  })
  .map(({ base, steps }) => ({ ...base, steps: steps.map(([above, rates]) => ({ ...rates, above })) }));
const tokens = fc.nat({ max: 100_000 });
const counts = fc.array(tokens, { minLength: 11, maxLength: 11 });

test('no usage within the facts of a request costs more than its reservation, whatever the steps', () => {
  fc.assert(
    fc.property(price, counts, fc.nat({ max: 9 }), (stored, all, uses) => {
      const [text = 0, audio = 0, image = 0, video = 0, readAudio = 0, readText = 0, write = 0] = all;
      const [out = 0, reasoning = 0, outAudio = 0, outVideo = 0] = all.slice(7);
      const usage: MeteredUsage = {
        input: text + audio + image + video + readAudio + readText + write,
        cacheRead: readAudio + readText,
        cacheReadAudio: readAudio,
        cacheWrite: write,
        inputAudio: audio + readAudio,
        inputImage: image,
        inputVideo: video,
        audioSeconds: Math.floor((audio + readAudio) / 10),
        output: out + reasoning + outAudio + outVideo,
        reasoning,
        outputAudio: outAudio,
        outputVideo: outVideo,
        searches: uses,
        citations: text,
      };
      const facts = {
        maxInput: usage.input,
        maxOutput: usage.output,
        maxSearches: uses,
      };
      const rates = parseRates(stored);
      const { nanos, lines } = costOf(usage, rates, []);
      const billed = lines.filter(
        ({ part }) => !/^(search|file_search|fetch|request|audio_second|citation)$/.test(part),
      );
      assert.equal(
        billed.reduce((sum, line) => sum + line.count, 0n),
        BigInt(usage.input + usage.output),
        'each token once',
      );
      assert.ok(nanos <= maxCostOf(facts, rates, []));
    }),
    { numRuns: runs(5_000) },
  );
});
