/** Conversion of Google's schema form to JSON Schema: lower-case types, `nullable` as a type, camelCase keywords. */
import type { JsonObject } from '../../hub/types.ts';
import { isObject } from '../../wire/read.ts';
import { snakeOf } from '../wire.ts';

export function fromGoogleSchema(schema: JsonObject): JsonObject {
  const result: [string, unknown][] = [];
  for (const [name, value] of Object.entries(schema)) {
    const keyword = CAMEL.get(name) ?? name;
    const read = Object.hasOwn(READERS, keyword) ? READERS[keyword] : (kept: unknown) => kept;
    // These two have no JSON Schema keyword; `nullable` becomes a type below.
    if (keyword !== 'nullable' && keyword !== 'propertyOrdering') result.push([keyword, read?.(value)]);
  }
  const jsonSchema = Object.fromEntries(result);
  if (schema.nullable !== true) return jsonSchema;
  return typeof jsonSchema.type === 'string'
    ? { ...jsonSchema, type: [jsonSchema.type, 'null'] }
    : { anyOf: [jsonSchema, { type: 'null' }] };
}

const CAMEL = new Map(
  ['anyOf', 'maxItems', 'minItems', 'maxLength', 'minLength', 'maxProperties', 'minProperties', 'propertyOrdering'].map(
    (camel) => [snakeOf(camel), camel],
  ),
);

const inner = (value: unknown): unknown => (isObject(value) ? fromGoogleSchema(value) : value);
/** This wire may encode 64-bit integers as strings. */
const count = (value: unknown): unknown => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value);

const READERS: Readonly<Record<string, (value: unknown) => unknown>> = {
  type: (value) => (typeof value === 'string' ? value.toLowerCase() : value),
  properties: (value) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, inner(schema)])) : value,
  items: inner,
  anyOf: (value) => (Array.isArray(value) ? value.map(inner) : value),
  maxItems: count,
  minItems: count,
  maxLength: count,
  minLength: count,
  maxProperties: count,
  minProperties: count,
};
