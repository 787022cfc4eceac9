/**
 * Schemas of the reference, as calls that have the members by name. Members of an object are required unless `optional`
 * marks them.
 */

export type Schema = Readonly<Record<string, unknown>>;
export type Schemas = Readonly<Record<string, Schema>>;
export type Members = Readonly<Record<string, Schema | Optional>>;

export const JSON_TYPE = 'application/json';
export const TEXT = { type: 'string' } as const;
export const INTEGER = { type: 'integer' } as const;
export const NUMBER = { type: 'number' } as const;
export const BOOLEAN = { type: 'boolean' } as const;
export const NULL = { type: 'null' } as const;
export const BYTES = { ...TEXT, format: 'binary' } as const;
export const ANY = {} as const;
/** Whatever the dialect, the provider or the configuration holds. */
export const OBJECT = { type: 'object', additionalProperties: true } as const;

export const SECONDS = { ...INTEGER, description: 'Unix time in seconds' } as const;
export const COUNT = { ...INTEGER, minimum: 1 } as const;
export const TIME = { ...TEXT, format: 'date-time' } as const;
export const MODEL = { ...TEXT, minLength: 1, description: 'name of a model that the key may use' } as const;
export const JSON_SCHEMA = { ...OBJECT, description: 'a JSON Schema' } as const;

/** An object whose other members pass too. */
export const open = (members: Members): Schema => objectOf(members, true);
/** An object whose every member is known. */
export const closed = (members: Members): Schema => objectOf(members, false);

const objectOf = (members: Members, isOpen: boolean): Schema => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, member instanceof Optional ? member.schema : member]),
  ),
  required: Object.keys(members).filter((name) => !(members[name] instanceof Optional)),
  additionalProperties: isOpen,
});

class Optional {
  readonly schema: Schema;

  constructor(schema: Schema) {
    this.schema = schema;
  }
}

export const optional = (schema: Schema, description?: string): Optional =>
  new Optional(description === undefined ? schema : described(schema, description));

export const described = (schema: Schema, description: string): Schema => ({ ...schema, description });
export const constant = (value: string | true): Schema => ({ const: value });
export const oneOf = (...words: readonly string[]): Schema => ({ ...TEXT, enum: words });
export const list = (items: Schema): Schema => ({ type: 'array', items });
export const anyOf = (...choices: readonly Schema[]): Schema => ({ anyOf: choices });
export const nullable = (schema: Schema): Schema => withNull(anyOf(schema, NULL));

/** `anyOf` of a type and null, as a list of types. */
export function withNull({ anyOf, ...rest }: Schema): Schema {
  const [some, none, ...others] = (anyOf ?? []) as readonly Schema[];
  if (!some || none?.type !== 'null' || others.length > 0 || typeof some.type !== 'string')
    return anyOf === undefined ? rest : { ...rest, anyOf };
  const words = Array.isArray(some.enum) ? { enum: [...some.enum, null] } : {};
  return { ...some, ...rest, type: [some.type, 'null'], ...words };
}

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** The members of an object as parameters of a query. */
export function queryOf(object: Schema) {
  const { properties, required = [] } = object as { properties: Schemas; required?: readonly string[] };
  return Object.entries(properties).map(([name, { description = '', ...schema }]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    description: String(description),
    schema,
  }));
}

/** A response with a body in JSON. */
export const json = (description: string, schema: Schema, example?: object): object => ({
  description,
  content: { [JSON_TYPE]: { schema, ...(example && { example }) } },
});
/** A response that may also be a stream of events. */
export const withStream = (response: object, example: string, description?: string): object => ({
  ...response,
  content: {
    ...('content' in response && (response.content as object)),
    'text/event-stream': { schema: { ...TEXT, ...(description && { description }) }, example },
  },
});
/** A response with a body of any other type. */
export const bytes = (description: string, type: string, schema: Schema = BYTES): object => ({
  description,
  content: { [type]: { schema } },
});
/** The responses that send a file, or the part of it that the client asks for. */
export const ranged = (description: string, type: string): Readonly<Record<string, object>> => ({
  200: bytes(description, type),
  206: bytes('The part that `Range` selects', type),
  416: { description: 'No byte is in the range; `Content-Range` has the size' },
});

export const CURSORS: Members = { first_id: nullable(TEXT), last_id: nullable(TEXT), has_more: BOOLEAN };

/** Lists of these objects, in the list envelope (V 2). */
export const listsOf = (...names: readonly string[]): Schemas =>
  Object.fromEntries(
    names.map((name) => [`${name}List`, closed({ object: constant('list'), data: list(ref(name)), ...CURSORS })]),
  );

/** A list of one object. */
export const listExample = (example: { readonly id: string }) => ({
  object: 'list',
  data: [example],
  first_id: example.id,
  last_id: example.id,
  has_more: false,
});
