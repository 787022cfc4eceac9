/** Prices of models: in the configuration file, in the history, and as an import from the public list. */
import { z } from 'zod';
import { isEmbeddingModel, PRICE_TIERS, RESOLUTION_WORDS, type Resolution } from '../rules/index.ts';
import * as f from './field.ts';

const tokens = (description: string, example: string, fallback?: string) =>
  f.fileField(f.moneyText.optional(), description, {
    unit: f.PER_MILLION,
    example: `"${example}"`,
    ...(fallback !== undefined && { fallback: `\`${fallback}\`` }),
  });

const pieces = (description: string, unit: string, example: string) =>
  f.fileField(f.moneyText.optional(), description, {
    unit: `${f.DOLLARS} per ${unit}`,
    example: `"${example}"`,
    fallback: 'none',
  });

const rateFields = {
  input: tokens('input tokens', '1.25'),
  cached_input: tokens('input read from a prompt cache', '0.125', 'input'),
  cached_audio_input: tokens('audio among it, where the provider reports it', '0.1', 'cached_input'),
  cached_image_input: tokens('images among it, where the provider reports them', '2', 'cached_input'),
  cache_write: tokens('input written to a prompt cache', '3.75', 'input'),
  cache_write_1h: tokens('the same, kept for an hour', '6', 'cache_write'),
  cache_hour: tokens(
    'contents that Google keeps for later requests, for each hour',
    '1',
    '10 times `input`, more than any provider asks',
  ),
  output: tokens(
    'output tokens; required unless the model makes images or videos, or has `embed` in its name; ' +
      '`"0"` gives its output away',
    '10',
  ),
  reasoning: tokens('reasoning tokens', '10', 'output'),
  audio_input: tokens('audio in the input', '32', 'input'),
  audio_output: tokens('audio in the output', '64', 'output'),
  image_input: tokens('images in the input', '10', 'input'),
  image_output: tokens('generated images, by tokens', '40', 'output'),
  video_input: tokens('videos in the input', '12', 'input'),
  video_output: tokens('videos in the reply of a text model', '17.5', 'output'),
  citation: tokens('sources that a research model reports beside its input', '2', 'free'),
  per_image: f.fileField(
    z.record(f.text, f.moneyText).optional(),
    'generated images, by piece: a table by `size/quality`, by `size`, or `*`',
    { unit: `${f.DOLLARS} per image`, example: '{ "1024x1024/high": "0.17", "*": "0.04" }', fallback: 'none' },
  ),
  per_search: pieces('searches of the provider in the web; a price per 1,000 divided by 1,000', 'search', '0.01'),
  per_file_search: pieces('searches of the provider in stored files', 'search', '0.0025'),
  per_fetch: pieces('web pages that the provider fetched', 'page', '0.001'),
  per_request: pieces('every charged request, beside its tokens', 'request', '0.005'),
  per_audio_hour: pieces(
    'length of the audio in the input, where the provider reports it; a price per minute times 60',
    'hour',
    '0.36',
  ),
};

/** Names of the rates that are one amount. */
export const RATE_NAMES = (Object.keys(rateFields) as (keyof typeof rateFields)[]).filter(
  (name) => name !== 'per_image',
);

/** Prices that stay low up to a length of the prompt. A provider charges the whole call by the step that it reaches. */
const Step = z
  .strictObject({
    above: f.count.describe('input tokens of the call, cached ones included; a longer call has the rates of the step'),
    ...rateFields,
  })
  .refine((step) => Object.keys(step).length > 1, { error: 'rates beside `above`' });

/** Bounds the work of a charge; providers have one or two. */
const MAX_STEPS = 8;
const steps = f.fileField(
  z
    .array(Step)
    .min(1)
    .max(MAX_STEPS)
    .refine((list) => list.every(({ above }, n) => n === 0 || above > (list[n - 1]?.above ?? 0)), {
      error: 'steps in the order of `above`',
    })
    .optional(),
  'rates of calls with more input than `above` tokens, for the whole call. ' +
    'A rate that a step leaves out stays as it is',
  { example: '[{ above: 200000, input: "6", output: "22.5" }]', fallback: 'one price for every length' },
);

/** Members that bill what a model makes. A price with none of them gives its replies away. */
export const REPLY_RATES: readonly string[] = [
  'output',
  'image_output',
  'per_image',
  'video',
  'per_video_second',
  'per_video',
];

/**
 * Whether the replies of a text model would be free although its operator has not said so. No rates at all mean no
 * price.
 */
export const lacksOutput = (rates: object): boolean =>
  Object.keys(rates).length > 0 && !REPLY_RATES.some((name) => name in rates);

/** Where prices of a model lack the rate of its output. One that embeds writes nothing. */
export function missingOutputs(model: string, prices: z.infer<typeof Prices> | undefined): string[][] {
  if (!prices || isEmbeddingModel(model)) return [];
  const tiers = Object.entries(prices.tiers ?? {})
    .filter(([, tier]) => tier.multiplier === undefined && lacksOutput(tier))
    .map(([name]) => ['tiers', name, 'output']);
  return lacksOutput(prices) ? [['output'], ...tiers] : tiers;
}

export const OUTPUT_EXPECTED = 'a price of output tokens; "0" gives them away';

/** A resolution without an amount costs the highest one of the table, so a table must not be empty. */
const ByResolution = z
  .union([f.moneyText, z.record(f.text, f.moneyText)], {
    error: 'a decimal amount in quotes, or one for each resolution',
  })
  .superRefine((price, context) => {
    if (typeof price === 'string') return;
    const keys = Object.keys(price).filter((name) => !RESOLUTION_WORDS.includes(name as Resolution));
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: price });
    else if (Object.keys(price).length === 0)
      context.addIssue({ code: 'custom', message: `an amount for at least one of ${RESOLUTION_WORDS.join(', ')}` });
  });

const TIER_EXPECTED = 'rates, or a multiplier of all rates';
const Tier = z
  .strictObject({ ...rateFields, steps, multiplier: f.factor.optional() })
  .refine((tier) => (tier.multiplier === undefined) === Object.keys(tier).some((name) => name !== 'multiplier'), {
    error: TIER_EXPECTED,
  })
  .describe(TIER_EXPECTED);

const videoPrice = ByResolution.optional();
const NO_VIDEO = 'a video model by this unit cannot be used';
const videoFields = {
  video: f.fileField(videoPrice, 'video tokens: one rate, or a table by resolution', {
    example: '{ "720p": "7", "1080p": "7.7" }',
    fallback: NO_VIDEO,
    unit: f.PER_MILLION,
  }),
  video_with_video_input: f.fileField(videoPrice, 'the same for requests with a video in `content`', {
    example: '"4.3"',
    fallback: '`video`',
    unit: f.PER_MILLION,
  }),
  per_video_second: f.fileField(videoPrice, 'seconds of videos, of a model that is sold by length', {
    example: '{ "720p": "0.2", "4k": "0.4" }',
    fallback: NO_VIDEO,
    unit: `${f.DOLLARS} per second`,
  }),
  per_video_second_with_audio: f.fileField(videoPrice, 'the same for videos with sound', {
    example: '{ "720p": "0.4", "4k": "0.6" }',
    fallback: '`per_video_second`',
    unit: `${f.DOLLARS} per second`,
  }),
  per_video: f.fileField(videoPrice, 'videos of a model that is sold by piece', {
    example: '"0.28"',
    fallback: NO_VIDEO,
    unit: `${f.DOLLARS} per video`,
  }),
};
export const VIDEO_RATE_NAMES = Object.keys(videoFields) as (keyof typeof videoFields)[];

export const Prices = z.strictObject({
  ...rateFields,
  steps,
  tiers: f.fileField(
    z.partialRecord(z.enum(PRICE_TIERS), Tier).optional(),
    'service tiers `priority`, `flex` and `fast`, and `batch` for requests of batches: ' +
      'rates of their own, with `steps`, or a `multiplier` of all rates',
    {
      example: '{ priority: { multiplier: "2" } }',
      fallback: 'requests for a tier get 400, batches have the other rates',
    },
  ),
  ...videoFields,
});

export const shownRates = f.anyObject.nullable().describe('rates in the form of the configuration file');
export type ShownRates = NonNullable<z.infer<typeof shownRates>>;

export const ShownPrice = f.named('Price', {
  id: f.text,
  model: f.text,
  group: f.text,
  removed: f.flag.describe('the model no longer exists'),
  valid_from: f.moment,
  prices: shownRates,
  cost: f.anyObject.nullable(),
  set_by: z
    .strictObject({
      actor: f.text,
      name: f.someText.describe('of the person'),
      audit: f.text.describe('id of the line'),
    })
    .nullable()
    .describe('from the audit log; null for a price that is older than it'),
});
export type ShownPrice = z.infer<typeof ShownPrice>;

const ShownRateChange = z.strictObject({
  rate: f.text,
  before: f.someText,
  after: f.someText,
  suspicious: f.flag.describe('disappears, drops to zero, or changes by more than ten times'),
});
export type ShownRateChange = z.infer<typeof ShownRateChange>;

export const PriceImport = z.strictObject({
  object: z.literal('price_import'),
  dry_run: f.flag,
  plan: f.text.describe('names the plan; send it back to apply it'),
  changes: f.list(
    z.strictObject({
      group: f.text,
      model: f.text,
      source: f.text.describe('provider and model of the public list'),
      valid_from: f.someText,
      prices: f.anyObject,
      cost: f.anyObject,
      rates: f.list(ShownRateChange),
    }),
  ),
  unchanged: f.integer,
  remarks: f.texts,
  skipped: f.texts.describe('models without an importable price, with the reason'),
});
export type PriceImport = z.infer<typeof PriceImport>;
