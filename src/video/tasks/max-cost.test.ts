import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRates } from '../../ledger/index.ts';
import { PIXEL_SIZES, type VideoCapabilities } from '../../rules/index.ts';
import { type CostFacts, maxCostOfTask } from './max-cost.ts';

const CAPABILITIES = { resolutions: ['480p', '720p'], defaultDuration: 5 } as unknown as VideoCapabilities;
const RATES = parseRates({ video: { '480p': '3', '720p': '8' }, video_with_video_input: '4' });
const [WIDTH, HEIGHT] = PIXEL_SIZES['480p']['16:9'];

const request = (more: Partial<CostFacts> = {}): CostFacts => ({
  duration: 4,
  frames: undefined,
  resolution: '480p',
  ratio: '16:9',
  hasVideoInput: false,
  ...more,
});
const costOf = (more: Partial<CostFacts>, capabilities = CAPABILITIES) =>
  maxCostOfTask(request(more), capabilities, RATES, [1_000_000n]);
const framesOf = (more: Partial<CostFacts>, capabilities?: VideoCapabilities): number =>
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
