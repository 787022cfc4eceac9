/** A validator for the JSON Schema keywords that openapi.json uses. Fails on keywords that it does not know. */
import assert from 'node:assert/strict';

export type JsonSchema = boolean | Readonly<Record<string, unknown>>;

/** Returns one line per violation; `resolve` finds the schema of a `$ref`. */
export function violations(
  schema: JsonSchema,
  value: unknown,
  resolve: (ref: string) => JsonSchema,
  at = '',
): string[] {
  if (typeof schema === 'boolean') return schema ? [] : [`${at}: nothing is allowed`];
  const check = (part: unknown, member: unknown, path = at): string[] =>
    violations(part as JsonSchema, member, resolve, path);
  const passing = (parts: unknown): number =>
    (parts as unknown[]).filter((part) => check(part, value).length === 0).length;
  const expect = (isValid: boolean, problem: string): string[] => (isValid ? [] : [`${at}: ${problem}`]);
  const members = isObject(value) ? Object.entries(value) : [];
  const properties = (schema.properties ?? {}) as Readonly<Record<string, unknown>>;
  const keywords: Readonly<Record<string, (argument: never) => string[]>> = {
    $ref: (ref: string) => check(resolve(ref), value),
    type: (types: string | readonly string[]) =>
      expect(
        [types].flat().some((type) => isOf(type, value)),
        `not ${types}`,
      ),
    const: (only: unknown) => expect(value === only, `not ${only}`),
    enum: (words: readonly unknown[]) => expect(words.includes(value), `not one of ${words.join(', ')}`),
    minimum: (min: number) => expect(typeof value !== 'number' || value >= min, `below ${min}`),
    maximum: (max: number) => expect(typeof value !== 'number' || value <= max, `above ${max}`),
    minLength: (min: number) => expect(typeof value !== 'string' || value.length >= min, 'too short'),
    maxLength: (max: number) => expect(typeof value !== 'string' || value.length <= max, 'too long'),
    pattern: (text: string) => expect(typeof value !== 'string' || new RegExp(text).test(value), `not ${text}`),
    minItems: (min: number) => expect(!Array.isArray(value) || value.length >= min, 'too few items'),
    maxItems: (max: number) => expect(!Array.isArray(value) || value.length <= max, 'too many items'),
    items: (part: unknown) =>
      Array.isArray(value) ? value.flatMap((item, n) => check(part, item, `${at}[${n}]`)) : [],
    required: (names: readonly string[]) =>
      isObject(value) ? names.flatMap((name) => expect(name in value, `${name} is missing`)) : [],
    properties: () =>
      members.flatMap(([name, member]) => (name in properties ? check(properties[name], member, `${at}.${name}`) : [])),
    additionalProperties: (allowed: unknown) =>
      allowed === false ? members.flatMap(([name]) => expect(name in properties, `${name} is unknown`)) : [],
    anyOf: (parts: unknown) => expect(passing(parts) > 0, 'fits no alternative'),
    oneOf: (parts: unknown) => expect(passing(parts) === 1, `fits ${passing(parts)} alternatives`),
    allOf: (parts: readonly unknown[]) => parts.flatMap((part) => check(part, value)),
    not: (part: unknown) => expect(check(part, value).length > 0, 'fits an excluded schema'),
    description: () => [],
    format: () => [],
    default: () => [],
  };
  return Object.entries(schema).flatMap(([keyword, argument]) =>
    (keywords[keyword] ?? assert.fail(`unknown keyword ${keyword}`))(argument as never),
  );
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
