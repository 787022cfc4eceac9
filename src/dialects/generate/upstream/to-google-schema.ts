/**
 * JSON Schema in Google's form: references inlined, alternatives merged, unknown
 * keywords dropped, as the provider rejects them. Names of properties are data.
 */
import type { JsonObject } from '../../hub/types.ts';
import { compact, isObject, maybeList, maybeNumber, maybeString } from '../../wire/read.ts';
import { mergeSchemas, resolvePointer } from './merge-schemas.ts';

/** Depth limit for nested references, because types can be recursive. */
const MAX_REFS = 8;
/** Limit on nodes of one schema. Eight levels of a type with ten references to itself would have a hundred million. */
const MAX_NODES = 10_000;

/** Converts a schema of any type. */
export function toGoogleSchema(schema: unknown): JsonObject {
  return clean(schema, { root: schema, refs: 0, budget: { nodes: MAX_NODES } });
}

/** Converts a schema for `parameters`, which must be an object with properties; undefined if it has none. */
export function toGoogleParameters(schema: unknown): JsonObject | undefined {
  const result = toGoogleSchema(schema);
  const branches = maybeList(result.anyOf).filter(isObject);
  const object = branches.length > 0 ? uniteObjects(branches) : result;
  return object.type === 'OBJECT' && isObject(object.properties) ? object : undefined;
}

const TYPES = {
  string: 'STRING',
  number: 'NUMBER',
  integer: 'INTEGER',
  boolean: 'BOOLEAN',
  array: 'ARRAY',
  object: 'OBJECT',
} as const;
type TypeName = keyof typeof TYPES;
const isTypeName = (name: string): name is TypeName => Object.hasOwn(TYPES, name);

interface Walk {
  readonly root: unknown;
  readonly refs: number;
  readonly budget: { nodes: number };
}

function clean(schema: unknown, walk: Walk): JsonObject {
  walk.budget.nodes -= 1;
  // `true` or a malformed schema: a type is required, and a string can hold any value.
  if (!isObject(schema)) return { type: 'STRING' };
  if (walk.budget.nodes < 0) return { type: 'OBJECT' };
  const flat = flatten(schema, walk);
  const below = { ...walk, refs: flat.refs };
  const { anyOf, oneOf, ...rest } = flat.schema;
  const branches = maybeList(maybeList(anyOf).length > 0 ? anyOf : oneOf);
  if (branches.length > 0) return unite(rest, branches, below);
  const types = typesOf(rest);
  if (types.length > 1)
    return alternatives(
      types.map((type) => clean({ ...rest, type }, below)),
      isNullable(rest),
    );
  return single(types[0] ?? inferType(rest), rest, below);
}

/** Inlines references and merges `allOf`. */
function flatten(schema: JsonObject, walk: Walk): { schema: JsonObject; refs: number } {
  walk.budget.nodes -= 1 + Object.keys(isObject(schema.properties) ? schema.properties : {}).length;
  let { refs } = walk;
  let current = schema;
  while (typeof current.$ref === 'string') {
    refs += 1;
    if (refs > MAX_REFS || walk.budget.nodes < 0) return { schema: { type: 'object' }, refs };
    const { $ref, ...rest } = current;
    const target = resolvePointer(walk.root, String($ref));
    current = isObject(target) ? mergeSchemas(rest, target) : rest;
    walk.budget.nodes -= Object.keys(isObject(current.properties) ? current.properties : {}).length;
  }
  if (!Array.isArray(current.allOf)) return { schema: current, refs };
  const { allOf, ...own } = current;
  let merged: JsonObject = own;
  for (const branch of maybeList(allOf)) {
    if (!isObject(branch) || walk.budget.nodes < 0) continue;
    const flat = flatten(branch, { ...walk, refs });
    refs = Math.max(refs, flat.refs);
    merged = mergeSchemas(merged, flat.schema);
  }
  return { schema: merged, refs };
}

/** Moves keywords next to `anyOf` into each branch, because the provider accepts nothing next to it. */
function unite(beside: JsonObject, branches: readonly unknown[], walk: Walk): JsonObject {
  const real = branches.filter((branch) => isObject(branch) && !isNull(branch)) as JsonObject[];
  const nullable = isNullable(beside) || real.length < branches.length;
  if (real.length === 0) return single(inferType(beside), { ...beside, nullable }, walk);
  return alternatives(
    real.map((branch) => clean(mergeSchemas(branch, beside), walk)),
    nullable,
  );
}

const isNull = (schema: JsonObject): boolean => schema.type === 'null' || schema.const === null;

function alternatives(cleaned: readonly JsonObject[], nullable: boolean): JsonObject {
  const flat = cleaned.flatMap((schema) => (Array.isArray(schema.anyOf) ? schema.anyOf.filter(isObject) : [schema]));
  const distinct = new Map<string, JsonObject>();
  for (const schema of flat) {
    const branch = nullable ? allowNull(schema) : schema;
    distinct.set(JSON.stringify(branch), branch);
  }
  const [only, ...others] = distinct.values();
  return only !== undefined && others.length === 0 ? only : { anyOf: [...distinct.values()] };
}

/** Puts `nullable` at its fixed position, so that equal schemas give equal JSON. */
function allowNull({ type, title, description, nullable: _, ...rest }: JsonObject): JsonObject {
  return compact({ type, title, description, nullable: true, ...rest });
}

/** Merges alternative objects into one with the properties of all, because functions accept one object. */
function uniteObjects(branches: readonly JsonObject[]): JsonObject {
  const objects = branches.filter((branch) => branch.type === 'OBJECT');
  const [first] = objects;
  if (first === undefined) return {};
  const properties = Object.fromEntries(
    objects.flatMap((branch) => Object.entries(isObject(branch.properties) ? branch.properties : {})),
  );
  const required = maybeList(first.required).filter((name) =>
    objects.every((branch) => maybeList(branch.required).includes(name)),
  );
  return compact({
    type: 'OBJECT',
    description: maybeString(first.description),
    properties: Object.keys(properties).length > 0 ? properties : undefined,
    required: required.length > 0 ? required : undefined,
  });
}

const typesOf = (schema: JsonObject): TypeName[] => [
  ...new Set(
    (Array.isArray(schema.type) ? schema.type : [schema.type])
      .map((type) => String(type).toLowerCase())
      .filter(isTypeName),
  ),
];

function isNullable(schema: JsonObject): boolean {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  const nullType = types.some((type) => String(type).toLowerCase() === 'null');
  return schema.nullable === true || nullType || schema.const === null || maybeList(schema.enum).includes(null);
}

function inferType(schema: JsonObject): TypeName {
  if (isObject(schema.properties)) return 'object';
  if (schema.items !== undefined || schema.prefixItems !== undefined) return 'array';
  const sample = valuesOf(schema)[0] ?? null;
  if (typeof sample === 'boolean') return 'boolean';
  if (typeof sample === 'number') return Number.isInteger(sample) ? 'integer' : 'number';
  if (sample === null && (maybeNumber(schema.minimum) ?? maybeNumber(schema.maximum)) !== undefined) return 'number';
  return 'string';
}

const valuesOf = (schema: JsonObject): readonly unknown[] =>
  (schema.const === undefined ? maybeList(schema.enum) : [schema.const]).filter((value) => value !== null);

function single(type: TypeName, schema: JsonObject, walk: Walk): JsonObject {
  return compact({
    type: TYPES[type],
    title: maybeString(schema.title),
    description: describe(type, schema),
    nullable: isNullable(schema) ? true : undefined,
    default: schema.default ?? undefined,
    example: schema.example ?? undefined,
    ...KEYWORDS[type](schema, walk),
  });
}

/**
 * `enum` accepts only strings, so other allowed values move into the
 * description, like keywords that this form lacks.
 */
function describe(type: TypeName, schema: JsonObject): string | undefined {
  const notes = [maybeString(schema.description)];
  const values = valuesOf(schema);
  if (type !== 'string' && type !== 'object' && type !== 'array' && values.length > 0)
    notes.push(`Allowed values: ${values.map((value) => JSON.stringify(value)).join(', ')}.`);
  if (type === 'array' && schema.uniqueItems === true) notes.push('No two items are equal.');
  if ((type === 'number' || type === 'integer') && typeof schema.multipleOf === 'number')
    notes.push(`A multiple of ${schema.multipleOf}.`);
  return notes.filter((note) => note !== undefined).join(' ') || undefined;
}

type Keywords = (schema: JsonObject, walk: Walk) => Record<string, unknown>;

/** Members of each type besides the common ones. */
const KEYWORDS: Readonly<Record<TypeName, Keywords>> = {
  string: (schema) => ({
    enum: stringEnum(schema),
    format: formatOf(schema, ['enum', 'date-time']),
    minLength: maybeNumber(schema.minLength),
    maxLength: maybeNumber(schema.maxLength),
    pattern: maybeString(schema.pattern),
  }),
  number: (schema) => ({ format: formatOf(schema, ['float', 'double']), ...boundsOf(schema, 0) }),
  integer: (schema) => ({ format: formatOf(schema, ['int32', 'int64']), ...boundsOf(schema, 1) }),
  boolean: () => ({}),
  array: (schema, walk) => ({
    items: itemsOf(schema, walk),
    minItems: maybeNumber(schema.minItems),
    maxItems: maybeNumber(schema.maxItems),
  }),
  object: (schema, walk) => ({
    ...propertiesOf(schema, walk),
    minProperties: maybeNumber(schema.minProperties),
    maxProperties: maybeNumber(schema.maxProperties),
  }),
};

function stringEnum(schema: JsonObject): string[] | undefined {
  // The provider rejects empty strings in `enum`.
  const values = valuesOf(schema).filter((value): value is string => typeof value === 'string' && value !== '');
  return values.length > 0 ? [...new Set(values)] : undefined;
}

const formatOf = (schema: JsonObject, allowed: readonly string[]): string | undefined =>
  allowed.find((format) => format === schema.format);

/** Converts exclusive bounds to inclusive ones: the next integer for integers, the same number otherwise. */
function boundsOf(schema: JsonObject, step: 0 | 1): { minimum?: number | undefined; maximum?: number | undefined } {
  const above = maybeNumber(schema.exclusiveMinimum);
  const below = maybeNumber(schema.exclusiveMaximum);
  const lows = [maybeNumber(schema.minimum), above === undefined ? undefined : above + step];
  const highs = [maybeNumber(schema.maximum), below === undefined ? undefined : below - step];
  const present = (bound: number | undefined): bound is number => bound !== undefined;
  return {
    minimum: lows.some(present) ? Math.max(...lows.filter(present)) : undefined,
    maximum: highs.some(present) ? Math.min(...highs.filter(present)) : undefined,
  };
}

/** `items` is required. A tuple becomes a list of any of its members. */
function itemsOf(schema: JsonObject, walk: Walk): JsonObject {
  const tuple = Array.isArray(schema.items) ? schema.items : maybeList(schema.prefixItems);
  return clean(tuple.length > 0 ? { anyOf: tuple } : schema.items, walk);
}

function propertiesOf(schema: JsonObject, walk: Walk): Record<string, unknown> {
  const given = Object.entries(isObject(schema.properties) ? schema.properties : {});
  const entries = given
    .filter(([, value]) => value !== false)
    .map(([name, value]) => [name, clean(value, walk)] as const);
  const names = new Set<unknown>(entries.map(([name]) => name));
  const known = (list: unknown) => [...new Set(maybeList(list))].filter((name) => names.has(name));
  const required = known(schema.required);
  const ordering = known(schema.propertyOrdering);
  return {
    properties: entries.length > 0 ? Object.fromEntries(entries) : undefined,
    required: required.length > 0 ? required : undefined,
    propertyOrdering: ordering.length > 0 ? ordering : undefined,
  };
}
