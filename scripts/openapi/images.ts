/** Bodies of image requests in OpenAPI, from the rules of their fields. */
import {
  CONTRACT_IMAGES,
  IMAGE_FIELDS,
  IMAGE_FILES,
  IMAGE_PRESETS,
  type ImageFieldRule,
  PIXEL_BUDGET,
  STANDARD_IMAGE_SIZES,
} from '../../src/rules/index.ts';
import { BYTES, INTEGER, JSON_TYPE, type Schema, TEXT } from './schema.ts';

const SIZES = [
  ...new Set([...STANDARD_IMAGE_SIZES, ...Object.values(IMAGE_PRESETS).flatMap((row) => Object.values(row))]),
];

const OF_THE_MODEL = 'other models may have other values';

const SCHEMAS: { readonly [K in ImageFieldRule['kind']]: (rule: Extract<ImageFieldRule, { kind: K }>) => Schema } = {
  text: ({ required }) => (required ? { ...TEXT, minLength: 1 } : TEXT),
  boolean: () => ({ type: 'boolean' }),
  integer: ({ min, max }) => ({ ...INTEGER, minimum: min, ...(typeof max === 'number' && { maximum: max }) }),
  choice: ({ values }) => ({ ...TEXT, description: OF_THE_MODEL, examples: CONTRACT_IMAGES[values] }),
  size: () => ({
    ...TEXT,
    description: `auto, or width and height with a product of at most ${PIXEL_BUDGET}; ${OF_THE_MODEL}`,
    examples: SIZES,
  }),
};

const schemaOf = <R extends ImageFieldRule>(rule: R): Schema =>
  (SCHEMAS[rule.kind] as (rule: ImageFieldRule) => Schema)(rule);

const FIELDS = {
  model: TEXT,
  ...Object.fromEntries(Object.entries(IMAGE_FIELDS).map(([name, rule]) => [name, schemaOf(rule)])),
};
/** Open objects: the gateway forwards fields that it does not know. */
const body = (properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema => ({
  type: 'object',
  properties: { ...FIELDS, ...properties },
  required,
  additionalProperties: true,
});

const SOURCE = { type: 'object', properties: { image_url: TEXT, file_id: TEXT } } as const;

const LAMP = { model: 'demo-image', prompt: 'a lamp', size: '1024x1024' };

const several = (items: Schema): Schema => ({ type: 'array', items, minItems: 1, maxItems: IMAGE_FILES.maxImages });

/** Bodies by media type. */
export const IMAGE_BODIES = {
  'images.generate': { [JSON_TYPE]: { schema: body({}, ['prompt']), example: LAMP } },
  'images.edit': {
    'multipart/form-data': {
      schema: body({ image: several(BYTES), mask: BYTES }, ['model', 'prompt', 'image']),
      example: { ...LAMP, image: 'lamp.png' },
    },
    [JSON_TYPE]: {
      schema: body({ images: several(SOURCE), mask: SOURCE }, ['model', 'prompt', 'images']),
      example: { ...LAMP, images: [{ image_url: 'https://example.com/lamp.png' }] },
    },
  },
};
