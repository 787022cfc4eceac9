/**
 * JSON Schemas for constrained decoding: closed objects and
 * enforceable keywords. The others move into the description.
 */
import type { JsonObject } from '../hub/types.ts';
import { isObject, maybeList, maybeObject, tableOf } from '../wire/read.ts';

/** Distinguishes keywords from properties by position, never by name: a property may be called `format`. */
export function constrainSchema(schema: JsonObject): JsonObject {
  const result: Record<string, unknown> = {};
  const notes: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const kept = KEYWORDS.get(keyword)?.(value);
    if (kept !== undefined) result[keyword === 'oneOf' ? 'anyOf' : keyword] = kept;
    else if (!IGNORED.has(keyword) && !isOpen(keyword, value)) notes.push(`${keyword}: ${JSON.stringify(value)}`);
  }
  if (describesObject(schema)) result.additionalProperties = false;
  if (notes.length > 0) {
    const described = typeof schema.description === 'string' ? `${schema.description}\n\n` : '';
    result.description = `${described}{${notes.join(', ')}}`;
  }
  return result;
}

/**
 * Whether a further tool can be strict: the provider can enforce its
 * schema unchanged, and limits the number of such tools.
 */
export const canBeStrict = (schema: JsonObject, strictCount: number): boolean =>
  strictCount < MAX_STRICT &&
  JSON.stringify(constrainSchema(schema)) === JSON.stringify(schema) &&
  countOptional(schema) <= MAX_OPTIONAL;

/** The provider's limits on strict tools, and on optional properties in one schema. */
const MAX_STRICT = 20;
const MAX_OPTIONAL = 24;

/** Merges top-level alternatives into one permissive object, because the provider requires a plain object there. */
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

type KeywordFilter = (value: unknown) => unknown;

const unchanged: KeywordFilter = (value) => value;
const schemaList: KeywordFilter = (value) => (Array.isArray(value) ? value.map(innerSchema) : undefined);
const schemaMap: KeywordFilter = (value) =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, innerSchema(schema)]))
    : undefined;
const innerSchema: KeywordFilter = (value) => (isObject(value) ? constrainSchema(value) : value);

/** Returns undefined for a value that the provider cannot enforce. */
const KEYWORDS = tableOf<KeywordFilter>({
  type: unchanged,
  enum: unchanged,
  const: unchanged,
  title: unchanged,
  description: unchanged,
  required: unchanged,
  properties: schemaMap,
  $defs: schemaMap,
  definitions: schemaMap,
  anyOf: schemaList,
  oneOf: schemaList,
  allOf: schemaList,
  items: (value) => (isObject(value) ? constrainSchema(value) : undefined),
  $ref: (value) => (typeof value === 'string' && value.startsWith('#') ? value : undefined),
  format: (value) => (FORMATS.has(String(value)) ? value : undefined),
  minItems: (value) => (value === 0 || value === 1 ? value : undefined),
  additionalProperties: (value) => (value === false ? value : undefined),
});

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
/** Objects are closed here; a schema that only says that they may be open loses nothing that a model can use. */
const isOpen = (keyword: string, value: unknown): boolean => keyword === 'additionalProperties' && value === true;
const IGNORED: ReadonlySet<string> = new Set(['$schema', '$id', '$comment']);

const describesObject = ({ type, properties }: JsonObject): boolean =>
  type === 'object' || maybeList(type).includes('object') || (type === undefined && isObject(properties));

function countOptional(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, entry) => sum + countOptional(entry), 0);
  if (!isObject(value)) return 0;
  const required = new Set(maybeList(value.required));
  const own = Object.keys(maybeObject(value.properties)).filter((name) => !required.has(name)).length;
  return own + Object.values(value).reduce((sum: number, entry) => sum + countOptional(entry), 0);
}
