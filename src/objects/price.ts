/** Prices of models: in the configuration file, in the history, and as an import from the public list. */
import { z } from 'zod';
import { PRICE_TIERS, RESOLUTIONS, type Resolution } from '../rules/index.ts';
import {
  anyObject,
  DOLLARS,
  factor,
  fileField,
  flag,
  integer,
  list,
  moment,
  moneyText,
  PER_MILLION,
  someText,
  text,
  texts,
} from './field.ts';

const tokens = (description: string, example: string, fallback?: string) =>
  fileField(moneyText.optional(), description, {
    unit: PER_MILLION,
    example: `"${example}"`,
    ...(fallback !== undefined && { fallback: `\`${fallback}\`` }),
  });

const rateFields = {
  input: tokens('input tokens', '1.25'),
  cached_input: tokens('input read from a prompt cache', '0.125', 'input'),
  cache_write: tokens('input written to a prompt cache', '3.75', 'input'),
  cache_write_1h: tokens('the same, kept for an hour', '6', 'cache_write'),
  output: tokens('output tokens', '10'),
  reasoning: tokens('reasoning tokens', '10', 'output'),
  audio_input: tokens('audio in the input', '32', 'input'),
  audio_output: tokens('audio in the output', '64', 'output'),
  image_input: tokens('images in the input', '10', 'input'),
  image_output: tokens('generated images, by tokens', '40', 'output'),
  per_image: fileField(
    z.record(text, moneyText).optional(),
    'generated images, by piece: a table by `size/quality`, by `size`, or `*`',
    { unit: `${DOLLARS} per image`, example: '{ "1024x1024/high": "0.17", "*": "0.04" }', fallback: 'none' },
  ),
  per_search: fileField(moneyText.optional(), 'searches of the provider', {
    unit: `${DOLLARS} per search`,
    example: '"0.01"',
    fallback: 'none',
  }),
};

/** A resolution without an amount costs the highest one of the table, so a table must not be empty. */
const ByResolution = z
  .union([moneyText, z.record(text, moneyText)], { error: 'a decimal amount in quotes, or one for each resolution' })
  .superRefine((price, context) => {
    if (typeof price === 'string') return;
    const keys = Object.keys(price).filter((name) => !RESOLUTIONS.includes(name as Resolution));
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: price });
    else if (Object.keys(price).length === 0)
      context.addIssue({ code: 'custom', message: `an amount for at least one of ${RESOLUTIONS.join(', ')}` });
  });

const TIER_EXPECTED = 'rates, or a multiplier of all rates';
const Tier = z
  .strictObject({ ...rateFields, multiplier: factor.optional() })
  .refine((tier) => (tier.multiplier === undefined) === Object.keys(tier).some((name) => name !== 'multiplier'), {
    error: TIER_EXPECTED,
  })
  .describe(TIER_EXPECTED);

export const Prices = z
  .strictObject({
    ...rateFields,
    tiers: fileField(
      z.partialRecord(z.enum(PRICE_TIERS), Tier).optional(),
      'service tiers `priority`, `flex` and `fast`: rates of their own, or a `multiplier` of all rates',
      { example: '{ priority: { multiplier: "2" } }', fallback: 'requests for a tier get 400' },
    ),
    video: fileField(ByResolution.optional(), 'video tokens: one rate, or a table by resolution', {
      unit: PER_MILLION,
      example: '{ "720p": "7", "1080p": "7.7" }',
      fallback: 'a video model cannot be used',
    }),
    video_with_video_input: fileField(ByResolution.optional(), 'the same for requests with a video in `content`', {
      unit: PER_MILLION,
      example: '"4.3"',
      fallback: '`video`',
    }),
  })
  // Without standard rates, every other request would be free.
  .refine((prices) => prices.tiers === undefined || Object.keys(prices).length > 1, {
    path: ['tiers'],
    error: 'tiers only beside the standard rates',
  });

export const shownRates = anyObject.nullable().describe('rates in the form of the configuration file');
export type ShownRates = NonNullable<z.infer<typeof shownRates>>;

export const ShownPrice = z
  .strictObject({
    id: text,
    model: text,
    group: text,
    removed: flag.describe('the model no longer exists'),
    valid_from: moment,
    prices: shownRates,
    cost: anyObject.nullable(),
  })
  .meta({ id: 'Price' });
export type ShownPrice = z.infer<typeof ShownPrice>;

const ShownRateChange = z.strictObject({
  rate: text,
  before: someText,
  after: someText,
  suspicious: flag.describe('disappears, drops to zero, or changes by more than ten times'),
});
export type ShownRateChange = z.infer<typeof ShownRateChange>;

export const PriceImport = z.strictObject({
  object: z.literal('price_import'),
  dry_run: flag,
  plan: text.describe('names the plan; send it back to apply it'),
  changes: list(
    z.strictObject({
      group: text,
      model: text,
      source: text.describe('provider and model of the public list'),
      valid_from: someText,
      prices: anyObject,
      cost: anyObject,
      rates: list(ShownRateChange),
    }),
  ),
  unchanged: integer,
  remarks: texts,
  skipped: texts.describe('models without an importable price, with the reason'),
});
export type PriceImport = z.infer<typeof PriceImport>;
