import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRates } from '../../ledger/index.ts';
import { PIXEL_SIZES, type Ratio, type Resolution, sheetOf } from '../../rules/index.ts';
import { type CostFacts, maxCostOfTask } from './max-cost.ts';

const CAPABILITIES = sheetOf('A', { resolutions: ['480p', '720p'], default_duration: 5 });
const RATES = parseRates({ video: { '480p': '3', '720p': '8' }, video_with_video_input: '4' });
const [WIDTH, HEIGHT] = PIXEL_SIZES['480p']['16:9'];

const request = (more: Partial<CostFacts> = {}): CostFacts => ({
  duration: 4,
  frames: undefined,
  resolution: '480p',
  ratio: '16:9',
  hasVideoInput: false,
  promptOptions: undefined,
  ...more,
});
const costOf = (more: Partial<CostFacts>, capabilities = CAPABILITIES) =>
  maxCostOfTask(request(more), capabilities, RATES, [1_000_000n]);
const framesOf = (more: Partial<CostFacts>, capabilities?: typeof CAPABILITIES): number =>
  costOf(more, capabilities).frames;

test('a task is held for the seconds that it asks for, that its model takes without, or the longest video', () => {
  assert.equal(framesOf({ duration: 4 }), 4 * 24 + 1);
  assert.equal(framesOf({ duration: undefined }), 5 * 24 + 1);
  assert.equal(framesOf({ duration: undefined }, { ...CAPABILITIES, defaultDuration: undefined }), 15 * 24 + 1);
  assert.equal(framesOf({ duration: -1 }), 15 * 24 + 1, 'the model chooses');
  assert.equal(framesOf({ duration: 4, frames: 49 }), 3 * 24 + 1, 'frames are whole seconds');
});

test('a video in the input counts as the longest one, at the rate of such tasks', () => {
  const { frames, rate } = costOf({ hasVideoInput: true });
  assert.deepEqual([frames, rate], [(4 + 15) * 24 + 1, 4_000_000_000n]);
});

test('a task is held for the picture and the rate that it asks for, or for the largest and the dearest', () => {
  const { pixels, tokens, rate, nanos } = costOf({});
  assert.deepEqual([pixels, rate], [WIDTH * HEIGHT, 3_000_000_000n]);
  assert.equal(tokens, Math.ceil((pixels * 97) / 1_024));
  assert.equal(nanos, BigInt(tokens) * 3_000n);
  const open = costOf({ resolution: undefined, ratio: undefined });
  const largest = Math.max(...Object.values(PIXEL_SIZES['720p']).map(([width, height]) => width * height));
  assert.deepEqual([open.pixels, open.rate], [largest, 8_000_000_000n]);
});

test('options in the prompt count beside the parameters, whichever is larger, and unclear ones as the largest video', () => {
  const options = { resolutions: new Set<Resolution>(), ratios: new Set<Ratio>(), seconds: 0, isUnclear: false };
  const asked = costOf({ promptOptions: { ...options, resolutions: new Set(['720p']), seconds: 12 } });
  assert.deepEqual([asked.frames, asked.pixels, asked.rate], [12 * 24 + 1, 1280 * 720, 8_000_000_000n]);
  const smaller = costOf({ resolution: '720p', duration: 9, promptOptions: { ...options, seconds: 4 } });
  assert.deepEqual([smaller.frames, smaller.pixels], [9 * 24 + 1, 1280 * 720], 'the body may win');
  assert.equal(costOf({ promptOptions: { ...options, ratios: new Set(['4:3']) } }).pixels, WIDTH * HEIGHT);
  assert.ok(
    costOf({ ratio: '21:9', promptOptions: { ...options, ratios: new Set(['16:9']) } }).pixels >= WIDTH * HEIGHT,
  );
  const unclear = costOf({ promptOptions: { ...options, isUnclear: true } });
  const largest = costOf({ duration: -1, resolution: undefined, ratio: undefined });
  assert.deepEqual(unclear, largest);
  assert.equal(costOf({ promptOptions: { ...options, resolutions: new Set(['4k']) } }).pixels, 3840 * 2160);
});
