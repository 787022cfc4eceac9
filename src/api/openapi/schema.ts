/** Building blocks of OpenAPI schemas and responses. */

export type Schema = Readonly<Record<string, unknown>>;
type SchemaMembers = Readonly<Record<string, Schema>>;

export const JSON_TYPE = 'application/json';
export const TEXT = { type: 'string' } as const;
export const INTEGER = { type: 'integer' } as const;
export const NUMBER = { type: 'number' } as const;
export const BOOLEAN = { type: 'boolean' } as const;
export const SECONDS = { ...INTEGER, description: 'Unix time in seconds' } as const;
export const TIME = { ...TEXT, format: 'date-time' } as const;
/** Whatever the dialect, the provider or the configuration holds. */
export const ANY_OBJECT = { type: 'object', additionalProperties: true } as const;

export const nullable = (type: string): Schema => ({ type: [type, 'null'] });
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const described = (description: string, schema: Schema): Schema => ({ ...schema, description });
export const wordOf = (words: readonly string[], description?: string): Schema => ({
  ...TEXT,
  enum: words,
  ...(description !== undefined && { description }),
});
export const arrayOf = (items: Schema): Schema => ({ type: 'array', items });
export const json = (description: string, schema: Schema, example?: object): object => ({
  description,
  content: { [JSON_TYPE]: { schema, ...(example && { example }) } },
});

/** Every member is known. */
export const object = (properties: SchemaMembers, optional: SchemaMembers = {}): Schema => ({
  type: 'object',
  properties: { ...properties, ...optional },
  required: Object.keys(properties),
  additionalProperties: false,
});

/** Members of a dialect that clients commonly use; the others pass too. */
export const openObject = (properties: SchemaMembers, optional: SchemaMembers = {}): Schema => ({
  ...object(properties, optional),
  additionalProperties: true,
});

/** The list envelope (V 2). */
export const listSchema = (name: string): Schema =>
  object({
    object: { const: 'list' },
    data: arrayOf(ref(name)),
    first_id: nullable('string'),
    last_id: nullable('string'),
    has_more: BOOLEAN,
  });

/** A list of one object. */
export const listExample = (example: { readonly id: string }) => ({
  object: 'list',
  data: [example],
  first_id: example.id,
  last_id: example.id,
  has_more: false,
});
