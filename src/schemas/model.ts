/** Models: the lines of the catalog that names of requests resolve to. */
import { z } from 'zod';
import { FALLBACK } from '../rules/index.ts';
import * as f from './field.ts';
import { ModelCapabilities } from './model-capabilities.ts';
import { missingOutputs, OUTPUT_EXPECTED, Prices, shownRates } from './price.ts';

/** The id of a group, and the name of a model there. */
const FALLBACK_LINE = /^[a-z0-9][a-z0-9._-]{0,63}(?:\/[^*\s]{1,200})?$/;

const fields = z.strictObject({
  id: f.fileField(
    z.string().min(1).max(200),
    'name that callers use, or a pattern with `*`. The first line of the group that matches decides',
    { example: '"gpt-*"' },
  ),
  groups: f.fileField(z.array(f.text).min(1), 'groups that serve the model', { example: '[openai]' }),
  upstream: f.fileField(z.string().min(1).max(200).optional(), 'name that is sent to the provider', {
    example: '"gpt-5"',
    fallback: 'the name of the request',
  }),
  prices: f.fileField(Prices.optional(), 'what users pay; required unless `free`', {
    example: '{ input: "1.25", cached_input: "0.125", output: "10" }',
  }),
  cost: f.fileField(
    Prices.optional(),
    'what the provider charges you, with the members of `prices`; for reports and margins',
    { example: '{ input: "1", output: "8" }', fallback: 'unknown' },
  ),
  free: f.fileField(z.boolean().optional(), 'serves the model without a price', { example: 'true', fallback: 'false' }),
  /** model-capabilities.ts in the setup checks which members a group has. */
  capabilities: f.fileField(
    ModelCapabilities.optional(),
    'what the model accepts, where it differs from what its name is known for',
    { example: '{ imageQualities: [low, high, max] }', fallback: 'by the name of the model' },
  ),
  context: f.fileField(
    f.count.optional(),
    'largest input; a request reserves no more than that, unless it embeds texts',
    { example: '400000', unit: 'tokens' },
  ),
  max_output: f.fileField(f.count.optional(), 'largest output; a request without a limit of its own reserves this', {
    example: '128000',
    fallback: '32,000 are reserved',
    unit: 'tokens',
  }),
  fallback: f.fileField(
    z
      .array(z.string().regex(FALLBACK_LINE, 'a group and a model such as openai/gpt-5, or a group for the same name'))
      .max(FALLBACK.lines)
      .optional(),
    'lines of other groups that take a call while no account of its own group can, in this order: ' +
      '`group/model`, or `group` for the same name',
    { example: '[openai/gpt-5]', fallback: 'none' },
  ),
  valid_from: f.fileField(f.time.optional(), 'time from which the prices are in force', {
    example: '2030-01-31T00:00:00Z',
    fallback: 'now',
  }),
});

export const ModelEntry = fields
  .refine(({ free, prices }) => !(free && prices), { path: ['free'], error: 'true only for a model without prices' })
  .superRefine(({ id, prices, cost }, context) => {
    for (const [name, rates] of Object.entries({ prices, cost }))
      for (const path of missingOutputs(id, rates))
        context.addIssue({ code: 'custom', path: [name, ...path], message: OUTPUT_EXPECTED, input: undefined });
  });

export const ShownModel = f.named('CatalogModel', {
  id: fields.shape.id.describe('a name or a pattern'),
  group: f.text,
  upstream: f.someText,
  capabilities: f.anyObject,
  learned: f.anyObject.describe('what replies have shown that it can do, which its calls reserve for'),
  context: f.someInteger,
  max_output: f.someInteger,
  fallback: f.texts,
  free: f.flag,
  position: f.integer,
  created_at: f.moment,
  price: f.someText.describe('the price in force'),
  prices: shownRates,
  cost: shownRates,
});
export type ShownModel = z.infer<typeof ShownModel>;

const MODEL_KINDS = ['text', 'image', 'video', 'embeddings'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

/** A model as the people of a user see it. */
export const OwnModel = f.named('OwnModel', {
  id: f.text,
  group: f.text,
  kind: z.enum(MODEL_KINDS),
  context: f.someInteger,
  max_output: f.someInteger,
  prices: shownRates.describe('what this user pays, with all multipliers; null for a free model'),
  accepts: f.texts.describe('what it takes beside text; of a video model its resolutions and ratios'),
  sheet: z
    .strictObject({
      resolutions: f.texts,
      ratios: f.texts,
      default_duration: f.someInteger,
      durations: z.array(z.int()).describe('seconds; -1 if the model can choose'),
      words: z.record(z.string(), f.texts).describe('members of a request that are one of several words'),
    })
    .nullable()
    .describe('of a video model'),
});
export type OwnModel = z.infer<typeof OwnModel>;
