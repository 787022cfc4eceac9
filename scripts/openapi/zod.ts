/** Our own formats as JSON Schema: the zod schemas that requests are read with, and those of responses. */
import { z } from 'zod';
import type { Successes } from './admin-responses.ts';
import { JSON_TYPE, queryOf, type Schema, TEXT, withNull } from './schema.ts';

/** Query parameters and their descriptions, as docs/endpoints.md lists them too. */
export const queryParameters = (query: z.ZodObject) => queryOf(jsonSchemaOf(query));

/** As a client sends it, before zod transforms the values. A schema with an id is a reference. */
export const jsonSchemaOf = (schema: z.ZodType): Schema => convert(schema).schema;

/** The schemas with an id that the given ones refer to, by id. */
export const definitionsOf = (schemas: readonly z.ZodType[]): Readonly<Record<string, Schema>> =>
  Object.assign({}, ...schemas.map((schema) => convert(schema).definitions));

/** Several types are for a document, which is never empty. */
export function requestBodyOf(body: z.ZodType, example: object | undefined, types: readonly string[] = [JSON_TYPE]) {
  const schema = jsonSchemaOf(body);
  return {
    required: types.length > 1 || 'required' in schema,
    content: Object.fromEntries(types.map((type) => [type, { schema, ...(example && { example }) }])),
  };
}

export const successesOf = (successes: Successes): Readonly<Record<string, object>> =>
  Object.fromEntries(
    Object.entries(successes).map(([status, { about, body, csv, type = JSON_TYPE }]) => [
      status,
      {
        description: about,
        content: { [type]: { schema: jsonSchemaOf(body) }, ...(csv && { 'text/csv': { schema: TEXT } }) },
      },
    ]),
  );

interface Converted {
  readonly schema: Schema;
  readonly definitions: Readonly<Record<string, Schema>>;
}

const known = new WeakMap<z.ZodType, Converted>();

function convert(schema: z.ZodType): Converted {
  const before = known.get(schema);
  if (before) return before;
  // A schema with an id becomes a reference inside of another one.
  const { properties = {}, $defs = {} } = z.toJSONSchema(z.strictObject({ schema }), { io: 'input' });
  const converted = { schema: tidy(properties.schema as Schema), definitions: tidyAll($defs as Members) };
  known.set(schema, converted);
  return converted;
}

type Members = Readonly<Record<string, Schema>>;
type Keyword = (value: never) => unknown;

const tidyAll = (members: Members): Record<string, Schema> =>
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, tidy(schema)]));
const tidyEach = (schemas: readonly Schema[]): Schema[] => schemas.map(tidy);
const drop: Keyword = () => undefined;

/** Keywords that hold schemas, and members for other readers: docs/config.md and TypeScript. */
const KEYWORDS: Readonly<Record<string, Keyword>> = {
  $ref: (ref: string) => ref.replace('#/$defs/', '#/components/schemas/'),
  properties: tidyAll,
  items: tidy,
  additionalProperties: (schema: Schema | boolean) =>
    typeof schema === 'boolean' ? schema : Object.keys(schema).length === 0 || tidy(schema),
  anyOf: tidyEach,
  oneOf: tidyEach,
  propertyNames: (schema: Schema) => (Object.keys(schema).length > 1 ? tidy(schema) : undefined),
  // Those of a column are useful; those of a number that JavaScript can represent are not.
  minimum: (value: number) => (value === Number.MIN_SAFE_INTEGER ? undefined : value),
  maximum: (value: number) => (value === Number.MAX_SAFE_INTEGER ? undefined : value),
  id: drop,
  example: drop,
  fallback: drop,
  unit: drop,
  kind: drop,
  readOnly: drop,
};

/** What zod writes, shorter and with the same meaning. */
function tidy(schema: Schema): Schema {
  const entries = Object.entries(schema)
    // The formats date-time and email come with a long regular expression that adds nothing.
    .filter(([name]) => name !== 'pattern' || schema.format === undefined)
    .map(([name, value]) => [name, KEYWORDS[name] ? KEYWORDS[name](value as never) : value] as const)
    .filter(([, value]) => value !== undefined);
  return withNull(Object.fromEntries(entries));
}
