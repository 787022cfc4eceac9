/**
 * A validator for the JSON Schema keywords that openapi.json and test/schemas use. Fails on keywords that it does not
 * know.
 */
import assert from 'node:assert/strict';

export type JsonSchema = boolean | Readonly<Record<string, unknown>>;

/** Finds the schema of a `$ref`. */
export type Resolve = (ref: string) => JsonSchema;

/** Returns one line per violation. */
export function violations(schema: JsonSchema, value: unknown, resolve: Resolve, at = ''): string[] {
  if (typeof schema === 'boolean') return schema ? [] : [`${at}: nothing is allowed`];
  const site: Site = { schema, value, resolve, at };
  const found: string[] = [];
  for (const keyword in schema) {
    const check = KEYWORDS.get(keyword) ?? assert.fail(`unknown keyword ${keyword}`);
    found.push(...check(schema[keyword] as never, site));
  }
  return found;
}

interface Site {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: unknown;
  readonly resolve: Resolve;
  readonly at: string;
}
type Keyword = (argument: never, site: Site) => readonly string[];

const NONE: readonly string[] = [];
const expect = (isValid: boolean, { at }: Site, problem: string): readonly string[] =>
  isValid ? NONE : [`${at}: ${problem}`];
const check = (part: unknown, value: unknown, { resolve }: Site, at: string): string[] =>
  violations(part as JsonSchema, value, resolve, at);
const passing = (parts: unknown, site: Site): number =>
  (parts as unknown[]).filter((part) => check(part, site.value, site, site.at).length === 0).length;
const propertiesOf = ({ schema }: Site): Readonly<Record<string, unknown>> =>
  (schema.properties ?? {}) as Readonly<Record<string, unknown>>;

const KEYWORDS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>(
  Object.entries<Keyword>({
    $ref: (ref: string, site) => check(site.resolve(ref), site.value, site, site.at),
    type: (types: string | readonly string[], site) =>
      expect(
        typeof types === 'string' ? isOf(types, site.value) : types.some((type) => isOf(type, site.value)),
        site,
        `not ${types}`,
      ),
    const: (only: unknown, site) => expect(site.value === only, site, `not ${only}`),
    enum: (words: readonly unknown[], site) =>
      expect(words.includes(site.value), site, `not one of ${words.join(', ')}`),
    minimum: (min: number, site) => expect(typeof site.value !== 'number' || site.value >= min, site, `below ${min}`),
    maximum: (max: number, site) => expect(typeof site.value !== 'number' || site.value <= max, site, `above ${max}`),
    minLength: (min: number, site) =>
      expect(typeof site.value !== 'string' || site.value.length >= min, site, 'too short'),
    maxLength: (max: number, site) =>
      expect(typeof site.value !== 'string' || site.value.length <= max, site, 'too long'),
    pattern: (text: string, site) =>
      expect(typeof site.value !== 'string' || new RegExp(text, 'u').test(site.value), site, `not ${text}`),
    minItems: (min: number, site) =>
      expect(!Array.isArray(site.value) || site.value.length >= min, site, 'too few items'),
    maxItems: (max: number, site) =>
      expect(!Array.isArray(site.value) || site.value.length <= max, site, 'too many items'),
    items: (part: unknown, site) =>
      Array.isArray(site.value) ? site.value.flatMap((item, n) => check(part, item, site, `${site.at}[${n}]`)) : NONE,
    required(names: readonly string[], site) {
      const { value } = site;
      return isObject(value) ? names.flatMap((name) => expect(name in value, site, `${name} is missing`)) : NONE;
    },
    properties(properties: Readonly<Record<string, unknown>>, site) {
      if (!isObject(site.value)) return NONE;
      return Object.entries(site.value).flatMap(([name, member]) =>
        Object.hasOwn(properties, name) ? check(properties[name], member, site, `${site.at}.${name}`) : NONE,
      );
    },
    additionalProperties(part: JsonSchema, site) {
      if (!isObject(site.value)) return NONE;
      const others = Object.entries(site.value).filter(([name]) => !Object.hasOwn(propertiesOf(site), name));
      return others.flatMap(([name, member]) =>
        part === false ? expect(false, site, `${name} is unknown`) : check(part, member, site, `${site.at}.${name}`),
      );
    },
    anyOf: checkUnion,
    oneOf: (parts: unknown, site) =>
      expect(passing(parts, site) === 1, site, `fits ${passing(parts, site)} alternatives`),
    allOf: (parts: readonly unknown[], site) => parts.flatMap((part) => check(part, site.value, site, site.at)),
    not: (part: unknown, site) =>
      expect(check(part, site.value, site, site.at).length > 0, site, 'fits an excluded schema'),
    exclusiveMinimum: (min: number, site) =>
      expect(typeof site.value !== 'number' || site.value > min, site, `not above ${min}`),
    propertyNames: (part: unknown, site) =>
      isObject(site.value)
        ? Object.keys(site.value).flatMap((name) => check(part, name, site, `${site.at}.${name}`))
        : NONE,
    description: () => NONE,
    examples: () => NONE,
    format: () => NONE,
    default: () => NONE,
  }),
);

/**
 * Reports the violations of the alternative that comes closest, which is the one that the author of the value meant.
 */
function checkUnion(parts: readonly JsonSchema[], site: Site): readonly string[] {
  let closest: readonly string[] | undefined;
  for (const part of parts) {
    if (!namesType(part, site)) continue;
    const found = check(part, site.value, site, site.at);
    if (found.length === 0) return NONE;
    if (!closest || found.length < closest.length) closest = found;
  }
  return closest ?? expect(false, site, `no alternative has this type: ${JSON.stringify(site.value)?.slice(0, 80)}`);
}

/** Whether the alternative can have the `type` of the value. Most unions of the SDKs are distinguished by it. */
function namesType(schema: JsonSchema, site: Site): boolean {
  const { value, resolve } = site;
  if (typeof schema === 'boolean' || !isObject(value) || !('type' in value)) return true;
  if (typeof schema.$ref === 'string') return namesType(resolve(schema.$ref), site);
  if (Array.isArray(schema.anyOf)) return (schema.anyOf as JsonSchema[]).some((part) => namesType(part, site));
  const type = (schema.properties as { type?: JsonSchema } | undefined)?.type;
  return type === undefined || check(type, value.type, site, '').length === 0;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isOf(type: string, value: unknown): boolean {
  if (type === 'object') return isObject(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}
