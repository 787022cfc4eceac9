/** Builds an instance of a JSON Schema. */
import { isObject, type Json, type JsonObject, listOf, numberOf, objectOf, stringsOf, textOf } from './json.ts';

const MAX_DEPTH = 8;

/** Strings are taken from `values` first. */
export function sample(schema: JsonObject, values: string[]): Json {
  return build(schema, { root: schema, values: [...values] }, 0, '');
}

interface Context {
  root: JsonObject;
  values: string[];
}

function build(given: JsonObject, context: Context, depth: number, name: string): Json {
  const schema = resolve(given, context, depth);
  if (schema.const !== undefined) return schema.const;
  const options = listOf(schema.enum);
  if (options.length > 0) return options[0] ?? null;
  switch (typeOf(schema)) {
    case 'object':
      return buildObject(schema, context, depth);
    case 'array':
      return buildArray(schema, context, depth, name);
    case 'number':
    case 'integer':
      return buildNumber(schema);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return buildString(schema, context, name);
  }
}

/** Follows `$ref` and selects a branch of `anyOf` and `oneOf`. */
function resolve(given: JsonObject, context: Context, depth: number): JsonObject {
  let schema = given;
  for (let hops = 0; hops < MAX_DEPTH; hops++) {
    const reference = textOf(schema.$ref);
    const branches = [...listOf(schema.anyOf), ...listOf(schema.oneOf)].filter(isObject);
    if (reference.startsWith('#')) schema = lookUp(context.root, reference);
    else if (branches.length > 0) schema = branches.find((branch) => typeOf(branch) !== 'null') ?? {};
    else if (listOf(schema.allOf).length > 0) schema = merge(schema);
    else break;
  }
  // Ends the recursion of a recursive schema.
  return depth > MAX_DEPTH ? { ...schema, required: [], properties: {}, minItems: 0 } : schema;
}

function lookUp(root: JsonObject, reference: string): JsonObject {
  let found: unknown = root;
  for (const key of reference.split('/').slice(1)) {
    found = objectOf(found)[key.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return objectOf(found);
}

function merge(schema: JsonObject): JsonObject {
  const { allOf, ...own } = schema;
  const parts = [own, ...listOf(allOf).map(objectOf)];
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map((part) => objectOf(part.properties))),
    required: parts.flatMap((part) => stringsOf(part.required)),
  };
}

function typeOf(schema: JsonObject): string {
  const names = stringsOf(schema.type).map((name) => name.toLowerCase());
  const name = names.find((entry) => entry !== 'null') ?? names[0];
  if (name !== undefined) return name;
  if (isObject(schema.properties)) return 'object';
  return schema.items === undefined ? 'string' : 'array';
}

function buildObject(schema: JsonObject, context: Context, depth: number): JsonObject {
  const properties = objectOf(schema.properties);
  const required = stringsOf(schema.required);
  const names = required.length > 0 ? required : Object.keys(properties);
  return Object.fromEntries(names.map((key) => [key, build(objectOf(properties[key]), context, depth + 1, key)]));
}

function buildArray(schema: JsonObject, context: Context, depth: number, name: string): Json[] {
  const length = Math.min(numberOf(schema.minItems) ?? 1, 10);
  return Array.from({ length }, () => build(objectOf(schema.items), context, depth + 1, name));
}

function buildNumber(schema: JsonObject): number {
  const low = numberOf(schema.minimum) ?? (numberOf(schema.exclusiveMinimum) ?? Number.NEGATIVE_INFINITY) + 1;
  const high = numberOf(schema.maximum) ?? (numberOf(schema.exclusiveMaximum) ?? Number.POSITIVE_INFINITY) - 1;
  return Math.max(low, Math.min(high, 1));
}

const FORMATS: Record<string, string> = {
  date: '2026-01-01',
  'date-time': '2026-01-01T00:00:00Z',
  time: '12:00:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

function buildString(schema: JsonObject, context: Context, name: string): string {
  const fixed = FORMATS[textOf(schema.format)];
  if (fixed !== undefined) return fixed;
  const text = context.values.shift() ?? `simulated ${name || 'value'}`;
  return text.padEnd(Math.min(numberOf(schema.minLength) ?? 0, 1_000), '.').slice(0, numberOf(schema.maxLength));
}
