/**
 * JSON Schemas as the provider's constrained decoding takes them: closed objects, and only the keywords it can enforce. What
 * it cannot enforce is moved into the description, where the model still reads it.
 */
import type { JsonObject } from '../../hub/types.ts';
import { isObject, maybeList, maybeObject } from '../../wire/read.ts';

/** Keywords are told apart from properties by place, never by name: a property may well be called `format`. */
export function constrainSchema(schema: JsonObject): JsonObject {
  const result: Record<string, unknown> = {};
  const notes: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const kept = KEYWORDS.get(keyword)?.(value);
    if (kept !== undefined) result[keyword === 'oneOf' ? 'anyOf' : keyword] = kept;
    else if (!SAYS_NOTHING.has(keyword) && value !== true) notes.push(`${keyword}: ${JSON.stringify(value)}`);
  }
  if (describesObject(schema)) result.additionalProperties = false;
  if (notes.length > 0) {
    const described = typeof schema.description === 'string' ? `${schema.description}\n\n` : '';
    result.description = `${described}{${notes.join(', ')}}`;
  }
  return result;
}

/** True when decoding can enforce the schema as it stands. */
export const isEnforceable = (schema: JsonObject): boolean =>
  JSON.stringify(constrainSchema(schema)) === JSON.stringify(schema) && countOptional(schema) <= MAX_OPTIONAL;

/** The provider's own limit on properties that may be absent, over the whole schema. */
const MAX_OPTIONAL = 24;

/** An input schema must be an object at its top, without alternatives: those are merged, as wide as needed. */
export function asObjectSchema(schema: JsonObject): JsonObject {
  const branches = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => maybeList(schema[keyword]).filter(isObject));
  if (branches.length === 0) return schema.type === 'object' ? schema : { ...schema, type: 'object' };
  const { anyOf: _, oneOf: __, allOf, ...rest } = schema;
  const required = [schema, ...maybeList(allOf).filter(isObject)].flatMap((part) => maybeList(part.required));
  return {
    ...rest,
    type: 'object',
    properties: Object.assign({}, ...[schema, ...branches].map((part) => maybeObject(part.properties))),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}

type Keep = (value: unknown) => unknown;

const asIs: Keep = (value) => value;
const schemas: Keep = (value) => (Array.isArray(value) ? value.map(inner) : undefined);
const named: Keep = (value) =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, inner(schema)]))
    : undefined;
const inner: Keep = (value) => (isObject(value) ? constrainSchema(value) : value);

/** Undefined = cannot be enforced with this value. */
const KEYWORDS: ReadonlyMap<string, Keep> = new Map(
  Object.entries<Keep>({
    type: asIs,
    enum: asIs,
    const: asIs,
    title: asIs,
    description: asIs,
    required: asIs,
    properties: named,
    $defs: named,
    definitions: named,
    anyOf: schemas,
    oneOf: schemas,
    allOf: schemas,
    items: (value) => (isObject(value) ? constrainSchema(value) : undefined),
    $ref: (value) => (typeof value === 'string' && value.startsWith('#') ? value : undefined),
    format: (value) => (FORMATS.has(String(value)) ? value : undefined),
    minItems: (value) => (value === 0 || value === 1 ? value : undefined),
    additionalProperties: (value) => (value === false ? value : undefined),
  }),
);

const FORMATS: ReadonlySet<string> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);
const SAYS_NOTHING: ReadonlySet<string> = new Set(['$schema', '$id', '$comment']);

const describesObject = ({ type, properties }: JsonObject): boolean =>
  type === 'object' || maybeList(type).includes('object') || (type === undefined && isObject(properties));

function countOptional(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, entry) => sum + countOptional(entry), 0);
  if (!isObject(value)) return 0;
  const required = new Set(maybeList(value.required));
  const own = Object.keys(maybeObject(value.properties)).filter((name) => !required.has(name)).length;
  return own + Object.values(value).reduce((sum: number, entry) => sum + countOptional(entry), 0);
}
