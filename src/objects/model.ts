/** Models: the lines of the catalog that names of requests resolve to. */
import { z } from 'zod';
import { anyObject, count, fileField, flag, integer, moment, someInteger, someText, text, time } from './field.ts';
import { Prices, shownRates } from './price.ts';

const fields = z.strictObject({
  id: fileField(
    z.string().min(1).max(200),
    'name that callers use, or a pattern with `*`. The first line of the group that matches decides',
    { example: '"gpt-*"' },
  ),
  groups: fileField(z.array(text).min(1), 'groups that serve the model', { example: '[openai]' }),
  upstream: fileField(z.string().min(1).max(200).optional(), 'name that is sent to the provider', {
    example: '"gpt-5"',
    fallback: 'the name of the request',
  }),
  prices: fileField(Prices.optional(), 'what users pay; required unless `free`', {
    example: '{ input: "1.25", cached_input: "0.125", output: "10" }',
  }),
  cost: fileField(
    Prices.optional(),
    'what the provider charges you, with the members of `prices`; for reports and margins',
    { example: '{ input: "1", output: "8" }', fallback: 'unknown' },
  ),
  free: fileField(z.boolean().optional(), 'serves the model without a price', { example: 'true', fallback: 'false' }),
  /** Members by the style of the groups; video-models.ts checks those of video models. */
  capabilities: fileField(
    anyObject.optional(),
    'what the model accepts. Text and images: `src/rules/capabilities.ts`. Video: `resolutions`, `ratios`, `cancel_queued`, `default_duration`',
    { example: '{ imagesEndpoint: true }', fallback: 'by the name of the model' },
  ),
  context: fileField(count.optional(), 'largest input; a request reserves no more than that, unless it embeds texts', {
    unit: 'tokens',
    example: '400000',
  }),
  max_output: fileField(count.optional(), 'largest output; a request without a limit of its own reserves this', {
    unit: 'tokens',
    example: '128000',
    fallback: '32,000 are reserved',
  }),
  valid_from: fileField(time.optional(), 'time from which the prices are in force', {
    example: '2030-01-31T00:00:00Z',
    fallback: 'now',
  }),
});

export const ModelEntry = fields.refine(({ free, prices }) => !(free && prices), {
  path: ['free'],
  error: 'true only for a model without prices',
});

export const ShownModel = z
  .strictObject({
    id: fields.shape.id.describe('a name or a pattern'),
    group: text,
    upstream: someText,
    capabilities: anyObject,
    context: someInteger,
    max_output: someInteger,
    free: flag,
    position: integer,
    created_at: moment,
    price: someText.describe('the price in force'),
    prices: shownRates,
    cost: shownRates,
  })
  .meta({ id: 'CatalogModel' });
export type ShownModel = z.infer<typeof ShownModel>;
