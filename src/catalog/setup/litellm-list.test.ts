import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Prices } from '../../schemas/index.ts';
import { litellmPrice, parseLitellmList } from './litellm-list.ts';

const LIST = parseLitellmList(
  JSON.stringify({
    'long-model': {
      litellm_provider: 'one',
      mode: 'chat',
      max_input_tokens: 1_000_000,
      input_cost_per_token: 3e-6,
      input_cost_per_token_above_200k_tokens: 6e-6,
      input_cost_per_token_above_200k_tokens_priority: 1.2e-5,
      input_cost_per_token_priority: 6e-6,
      output_cost_per_token: 1.5e-5,
      output_cost_per_token_above_200k_tokens: 2.25e-5,
      output_cost_per_token_priority: 3e-5,
      input_cost_per_token_batches: 1.5e-6,
      output_cost_per_token_batches: 7.5e-6,
      input_cost_per_token_flex: 1.5e-6,
      cache_creation_input_token_cost: 3.75e-6,
      cache_creation_input_token_cost_above_1hr: 6e-6,
      cache_creation_input_token_cost_above_1hr_above_200k_tokens: 1.2e-5,
      search_context_cost_per_query: { search_context_size_low: 0.01, search_context_size_high: 0.014 },
    },
    'two/long-model': { litellm_provider: 'two', input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 },
    'two/shared': { litellm_provider: 'two', output_cost_per_token: 2e-6 },
    'three/shared': { litellm_provider: 'three', output_cost_per_token: 3e-6, input_cost_per_video_per_second: 0.1 },
    drawing: { mode: 'image_generation', output_cost_per_image_token: 4e-5, input_cost_per_image: 0.04 },
    'high/1024-x-1024/drawing': { mode: 'image_generation', output_cost_per_image: 0.167 },
    '512-x-512/drawing': { mode: 'image_generation', input_cost_per_pixel: 6.86e-8 },
    'two/hd/512-x-512/drawing': { mode: 'image_generation', output_cost_per_image: 9 },
    hearing: { mode: 'audio_transcription', input_cost_per_second: 0.0001 },
    'ranged-model': {
      tiered_pricing: [
        { range: [0, 32_000], input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 },
        { range: [32_000, 128_000], input_cost_per_token: 2e-6, output_cost_per_token: 4e-6 },
      ],
    },
    'gpt-image-9': {
      mode: 'image_generation',
      cache_read_input_image_token_cost: 2e-6,
      input_cost_per_image_token: 8e-6,
      output_cost_per_image_token: 3e-5,
      input_cost_per_image_token_batches: 4e-6,
      output_cost_per_image_token_batches: 1.5e-5,
    },
    watching: { input_cost_per_token: 1e-6, input_cost_per_video_token: 6e-6, output_cost_per_token: 2e-6 },
    embedding: { mode: 'embedding', input_cost_per_token: 2e-8, input_cost_per_token_batches: 1e-8 },
    'exp-1206': { litellm_provider: 'gemini', input_cost_per_token: 3e-7, output_cost_per_token: 2.5e-6 },
    'gemini/exp-1206': {
      litellm_provider: 'gemini',
      max_input_tokens: 2_097_152,
      max_output_tokens: 8_192,
      input_cost_per_token: 0,
      output_cost_per_token: 0,
    },
    pages: { mode: 'ocr', ocr_cost_per_page: 0.001 },
  }),
);

function ratesOf(model: string, provider?: string): unknown {
  const price = litellmPrice(LIST, model, provider);
  if ('skip' in price) return price.skip;
  for (const { rates } of price.windows) Prices.parse(rates);
  return price.windows[0]?.rates;
}

test('a list in the form of LiteLLM has steps, tiers, cache lifetimes and searches', () => {
  assert.deepEqual(ratesOf('long-model'), {
    input: '3',
    output: '15',
    cache_write: '3.75',
    cache_write_1h: '6',
    per_search: '0.014',
    steps: [{ above: 200_000, input: '6', output: '22.5', cache_write_1h: '12' }],
    // Without a price of output a tier has that of every call.
    tiers: {
      priority: { input: '6', output: '30', steps: [{ above: 200_000, input: '12' }] },
      batch: { input: '1.5', output: '7.5' },
      flex: { input: '1.5', output: '15' },
    },
  });
  assert.deepEqual(ratesOf('ranged-model'), {
    input: '1',
    output: '2',
    steps: [{ above: 32_000, input: '2', output: '4' }],
  });
});

test('a list in the form of LiteLLM has images by size and quality, and audio by time', () => {
  assert.deepEqual(ratesOf('drawing'), {
    image_output: '40',
    per_image: { '1024x1024/high': '0.167', '512x512': '0.017983079' },
  });
  assert.deepEqual(ratesOf('hearing'), { per_audio_hour: '0.36', output: '0' });
});

test('a model is found by its name, by the end of one, and among several by the provider', () => {
  assert.deepEqual(ratesOf('long-model', 'two'), { input: '1', output: '2' });
  assert.match(String(ratesOf('shared')), /different prices \(two\/shared,three\/shared\); choose with --provider/);
  assert.deepEqual(ratesOf('shared', 'three'), { output: '3' });
  const price = litellmPrice(LIST, 'shared', 'three');
  assert.deepEqual('remarks' in price && price.remarks, ['input_cost_per_video_per_second is not metered']);
  assert.equal(ratesOf('unknown'), 'the price list has no such model');
  assert.match(String(ratesOf('pages')), /no price for it that an endpoint of the gateway can charge/);
  assert.throws(() => parseLitellmList('[1]'));
});

test('a list in the form of LiteLLM has cached images, videos, and batches without a price of output', () => {
  assert.deepEqual(ratesOf('gpt-image-9'), {
    cached_image_input: '2',
    image_input: '8',
    image_output: '30',
    tiers: { batch: { image_input: '4', image_output: '15' } },
  });
  assert.deepEqual(ratesOf('watching'), { input: '1', video_input: '6', output: '2' });
  assert.deepEqual(ratesOf('embedding'), {
    input: '0.02',
    output: '0',
    tiers: { batch: { input: '0.01', output: '0' } },
  });
});

test("a provider's own entry is preferred to one without its name, also when it is free", () => {
  assert.deepEqual(ratesOf('exp-1206'), { input: '0', output: '0' });
  const price = litellmPrice(LIST, 'exp-1206');
  assert.ok('remarks' in price);
  assert.deepEqual([price.source, price.remarks], ['litellm/gemini/exp-1206', ['the list says that it is free']]);
});

test('limits of a model are those of its entry, or the largest of all that a pattern matches', () => {
  const limitsOf = (model: string) => {
    const price = litellmPrice(LIST, model);
    return 'limits' in price ? price.limits : undefined;
  };
  assert.deepEqual(limitsOf('exp-1206'), { context: 2_097_152, maxOutput: 8_192 });
  assert.deepEqual(limitsOf('long-model'), { context: 1_000_000, maxOutput: undefined });
  const same = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6, max_input_tokens: 5 };
  const list = { 'a-1': { ...same, max_output_tokens: 3 }, 'a-2': { ...same, max_output_tokens: 7 } };
  const price = litellmPrice(list, 'a-*');
  assert.deepEqual('limits' in price && price.limits, { context: 5, maxOutput: 7 });
});
