/** The provider's own schema form as JSON Schema: types in lower case, `nullable` as a type, spellings unified. */
import type { JsonObject } from '../../hub/types.ts';
import { isObject } from '../../wire/read.ts';
import { snakeOf } from '../wire.ts';

export function fromGoogleSchema(schema: JsonObject): JsonObject {
  const result: [string, unknown][] = [];
  for (const [word, value] of Object.entries(schema)) {
    const keyword = CAMEL.get(word) ?? word;
    const read = Object.hasOwn(READERS, keyword) ? READERS[keyword] : (kept: unknown) => kept;
    // Only the order of properties and the null flag have no keyword of their own.
    if (keyword !== 'nullable' && keyword !== 'propertyOrdering') result.push([keyword, read?.(value)]);
  }
  const open = Object.fromEntries(result);
  if (schema.nullable !== true) return open;
  return typeof open.type === 'string' ? { ...open, type: [open.type, 'null'] } : { anyOf: [open, { type: 'null' }] };
}

const CAMEL = new Map(
  ['anyOf', 'maxItems', 'minItems', 'maxLength', 'minLength', 'maxProperties', 'minProperties', 'propertyOrdering'].map(
    (camel) => [snakeOf(camel), camel],
  ),
);

const inner = (value: unknown): unknown => (isObject(value) ? fromGoogleSchema(value) : value);
/** 64-bit numbers may be written as text on this wire. */
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
