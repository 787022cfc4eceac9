/** Models: the lines of the catalog that names of requests resolve to. */
import { z } from 'zod';
import { FALLBACK } from '../rules/index.ts';
import * as f from './field.ts';
import { ModelCapabilities } from './model-capabilities.ts';
import { missingOutputs, OUTPUT_EXPECTED, Prices, shownRates } from './price.ts';

/** The id of a group, and the name of a model there. */
const FALLBACK_LINE = /^[a-z0-9][a-z0-9._-]{0,63}(?:\/[^*\s]{1,200})?$/;

const fields = z.strictObject({
  ...f.fileFields(
    `
id: name that callers use, or a pattern with '*'. The first line of the group that matches decides | "gpt-*"
groups: groups that serve the model | [openai]
upstream: name that is sent to the provider | "gpt-5" | the name of the request
prices: what users pay; required unless 'free' | { input: "1.25", cached_input: "0.125", output: "10" }
cost: what the provider charges you, with the members of 'prices'; for reports and margins | { input: "1", output: "8" } | unknown
free: serves the model without a price | true | false
`,
    {
      id: z.string().min(1).max(200),
      groups: z.array(f.text).min(1),
      upstream: z.string().min(1).max(200).optional(),
      prices: Prices.optional(),
      cost: Prices.optional(),
      free: z.boolean().optional(),
    },
  ),
  /** model-capabilities.ts in the setup checks which members a group has. */
  ...f.fileFields(
    `
capabilities: what the model accepts, where it differs from what its name is known for | { imageQualities: [low, high, max] } | by the name of the model
context: largest input; a request reserves no more than that, unless it embeds texts | 400000 | - | tokens
max_output: largest output; a request without a limit of its own reserves this | 128000 | 32,000 are reserved | tokens
fallback: lines of other groups that take a call while no account of its own group can, in this order: 'group/model', or 'group' for the same name | [openai/gpt-5] | none
valid_from: time from which the prices are in force | 2030-01-31T00:00:00Z | now
`,
    {
      capabilities: ModelCapabilities.optional(),
      context: f.count.optional(),
      max_output: f.count.optional(),
      fallback: z
        .array(
          z.string().regex(FALLBACK_LINE, 'a group and a model such as openai/gpt-5, or a group for the same name'),
        )
        .max(FALLBACK.lines)
        .optional(),
      valid_from: f.time.optional(),
    },
  ),
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
  ...f.members('group:text upstream:text|null capabilities:object context:integer|null max_output:integer|null'),
  ...f.members('fallback:texts free:flag position:integer created_at:moment'),
  price: f.someText.describe('the price in force'),
  prices: shownRates,
  cost: shownRates,
});
export type ShownModel = z.infer<typeof ShownModel>;

const MODEL_KINDS = ['text', 'image', 'video', 'embeddings'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

/** A model as the people of a user see it. */
export const OwnModel = f.named('OwnModel', {
  ...f.members('id:text group:text'),
  kind: z.enum(MODEL_KINDS),
  ...f.members('context:integer|null max_output:integer|null'),
  prices: shownRates.describe('what this user pays, with all multipliers; null for a free model'),
  accepts: f.texts.describe('what it takes beside text; of a video model its resolutions and ratios'),
  sheet: z
    .strictObject({
      ...f.members('resolutions:texts ratios:texts default_duration:integer|null'),
      durations: z.array(z.int()).describe('seconds; -1 if the model can choose'),
      words: z.record(z.string(), f.texts).describe('members of a request that are one of several words'),
    })
    .nullable()
    .describe('of a video model'),
});
export type OwnModel = z.infer<typeof OwnModel>;
