/** Intersection of two JSON Schemas, and resolution of local references. */
import type { JsonObject } from '../../hub/types.ts';
import { isObject, maybeList, maybeNumber } from '../../wire/read.ts';

/** Returns a schema that satisfies both; keywords that cannot be merged come from `first`. */
export function mergeSchemas(first: JsonObject, second: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...second, ...first };
  for (const [keyword, merge] of Object.entries(MERGERS)) {
    if (first[keyword] !== undefined && second[keyword] !== undefined)
      merged[keyword] = merge(first[keyword], second[keyword]);
  }
  return merged;
}

type MergeKeyword = (first: unknown, second: unknown) => unknown;

const MERGERS: Readonly<Record<string, MergeKeyword>> = {
  properties: (a, b) => (isObject(a) && isObject(b) ? mergeProperties(a, b) : a),
  required: (a, b) => [...new Set([...maybeList(a), ...maybeList(b)])],
  enum: (a, b) => maybeList(a).filter((value) => maybeList(b).includes(value)),
  type: (a, b) => {
    const common = listOf(a).filter((type) => listOf(b).includes(type));
    if (common.length === 0) return a;
    return common.length === 1 ? common[0] : common;
  },
  minimum: (a, b) => Math.max(maybeNumber(a) ?? -Infinity, maybeNumber(b) ?? -Infinity),
  maximum: (a, b) => Math.min(maybeNumber(a) ?? Infinity, maybeNumber(b) ?? Infinity),
};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

function mergeProperties(a: JsonObject, b: JsonObject): JsonObject {
  const own = Object.entries(a).map(([name, value]) => [
    name,
    Object.hasOwn(b, name) && b[name] !== value ? { allOf: [value, b[name]] } : value,
  ]);
  return Object.fromEntries([...own, ...Object.entries(b).filter(([name]) => !Object.hasOwn(a, name))]);
}

/** Resolves a pointer such as `#/$defs/Name`; undefined for references to other documents. */
export function resolvePointer(root: unknown, pointer: string): unknown {
  if (pointer === '#') return root;
  if (!pointer.startsWith('#/')) return undefined;
  let value: unknown = root;
  for (const step of pointer.slice(2).split('/')) {
    const name = unescapeStep(step);
    const holder: unknown = value;
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, name)) return undefined;
    value = (holder as JsonObject)[name];
  }
  return value;
}

function unescapeStep(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}
