/** Bodies of image requests in OpenAPI, from the rules of their fields. */
import {
  IMAGE_FIELDS,
  IMAGE_FILES,
  IMAGE_PRESETS,
  type ImageFieldRule,
  PIXEL_BUDGET,
  STANDARD_IMAGE_SIZES,
} from '../../rules/index.ts';
import { BOOLEAN, INTEGER, JSON_TYPE, type Schema, TEXT } from './schema.ts';

const SIZES = [
  ...new Set([...STANDARD_IMAGE_SIZES, ...Object.values(IMAGE_PRESETS).flatMap((row) => Object.values(row))]),
];

const SCHEMAS: { readonly [K in ImageFieldRule['kind']]: (rule: Extract<ImageFieldRule, { kind: K }>) => Schema } = {
  text: ({ required }) => (required ? { ...TEXT, minLength: 1 } : TEXT),
  boolean: () => BOOLEAN,
  integer: ({ min, max }) => ({ ...INTEGER, minimum: min, ...(max !== undefined && { maximum: max }) }),
  choice: ({ values }) => ({ ...TEXT, enum: values }),
  size: () => ({
    ...TEXT,
    pattern: '^(?:auto|[1-9]\\d{0,4}x[1-9]\\d{0,4})$',
    description: `auto, or width and height with a product of at most ${PIXEL_BUDGET}`,
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

const FILE = { ...TEXT, format: 'binary' } as const;
const SOURCE = { type: 'object', properties: { image_url: TEXT, file_id: TEXT } } as const;

const LAMP = { model: 'demo-image', prompt: 'a lamp', size: '1024x1024' };

interface BodyContent {
  readonly schema: Schema;
  readonly example: object;
}

/** Bodies by media type. */
export const IMAGE_BODIES: Readonly<Record<'images.generate' | 'images.edit', Readonly<Record<string, BodyContent>>>> =
  {
    'images.generate': { [JSON_TYPE]: { schema: body({}, ['prompt']), example: LAMP } },
    'images.edit': {
      'multipart/form-data': {
        schema: body(
          { image: { type: 'array', items: FILE, minItems: 1, maxItems: IMAGE_FILES.maxImages }, mask: FILE },
          ['model', 'prompt', 'image'],
        ),
        example: { ...LAMP, image: 'lamp.png' },
      },
      [JSON_TYPE]: {
        schema: body(
          { images: { type: 'array', items: SOURCE, minItems: 1, maxItems: IMAGE_FILES.maxImages }, mask: SOURCE },
          ['model', 'prompt', 'images'],
        ),
        example: { ...LAMP, images: [{ image_url: 'https://example.com/lamp.png' }] },
      },
    },
  };
