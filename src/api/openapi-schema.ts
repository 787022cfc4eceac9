/** Building blocks of OpenAPI schemas and responses. */

export type Schema = Readonly<Record<string, unknown>>;

export const JSON_TYPE = 'application/json';
export const TEXT = { type: 'string' } as const;
export const INTEGER = { type: 'integer' } as const;
export const BOOLEAN = { type: 'boolean' } as const;
export const SECONDS = { ...INTEGER, description: 'Unix time in seconds' } as const;

export const nullable = (type: string): Schema => ({ type: [type, 'null'] });
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const json = (description: string, schema: Schema, example: object): object => ({
  description,
  content: { [JSON_TYPE]: { schema, example } },
});

export const object = (
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema => ({
  type: 'object',
  properties: { ...properties, ...optional },
  required: Object.keys(properties),
  additionalProperties: false,
});

/** The list envelope (V 2). */
export const listSchema = (name: string): Schema =>
  object({
    object: { const: 'list' },
    data: { type: 'array', items: ref(name) },
    first_id: nullable('string'),
    last_id: nullable('string'),
    has_more: BOOLEAN,
  });
