/** Values for a schema: valid ones, and damaged ones. */
import fc from 'fast-check';
import type { JsonSchema, Resolve } from '../support/json-schema.ts';

type Keywords = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 4;

/** A value that mostly fits the schema: formats and patterns are only approached. */
export function sampleOf(schema: JsonSchema, resolve: Resolve, depth = 0): fc.Arbitrary<unknown> {
  if (typeof schema === 'boolean') return anything(depth);
  const inner = (part: unknown): fc.Arbitrary<unknown> => sampleOf(part as JsonSchema, resolve, depth + 1);
  if (typeof schema.$ref === 'string') return sampleOf(resolve(schema.$ref), resolve, depth);
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  const union = (schema.oneOf ?? schema.anyOf) as readonly Keywords[] | undefined;
  // Alternatives that only demand members belong to an object, which is made below.
  if (union && schema.type === undefined) return fc.oneof(...union.map(inner));
  const types = [schema.type].flat();
  return fc.oneof(...types.map((type) => ofType(String(type), schema, { inner, depth })));
}

interface Making {
  readonly inner: (part: unknown) => fc.Arbitrary<unknown>;
  readonly depth: number;
}

function ofType(type: string, schema: Keywords, { inner, depth }: Making): fc.Arbitrary<unknown> {
  const { minimum = -10, maximum = 1_000, minLength = 0, maxLength = 20 } = schema as Record<string, number>;
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: Math.max(minimum, Number(schema.exclusiveMinimum ?? -10) + 1), max: maximum });
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true });
    case 'string':
      return textOf(schema, minLength, Math.max(minLength, Math.min(maxLength, minLength + 20)));
    case 'array':
      return depth >= MAX_DEPTH ? fc.constant([]) : fc.array(inner(schema.items ?? true), { maxLength: 2 });
    case 'object':
      return objectOf(schema, inner, depth);
    default:
      return anything(depth);
  }
}

const NAMES = [
  'demo',
  'victim',
  'messages',
  'responses',
  'demo-messages',
  'demo-video-a',
  'demo-video-2-0-ep',
  'name',
  'a',
] as const;

function textOf({ format }: Keywords, min: number, max: number): fc.Arbitrary<string> {
  if (format === 'date-time') return fc.constantFrom('2090-01-31T00:00:00Z', '2020-02-29T23:59:59.999Z');
  if (format === 'email') return fc.constantFrom('a@example.com', 'b@example.test');
  if (format === 'uri') return fc.constantFrom('https://example.com/a.png', 'https://example.com/');
  return fc.oneof(
    fc.constantFrom(...NAMES),
    fc.constantFrom('1', '1.25', 'true'),
    fc.string({ minLength: min, maxLength: max }),
  );
}

function objectOf(schema: Keywords, inner: Making['inner'], depth: number): fc.Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, unknown>>;
  const required = new Set(schema.required as readonly string[] | undefined);
  const names = Object.keys(properties).filter((name) => depth < MAX_DEPTH || required.has(name));
  const members = Object.fromEntries(names.map((name) => [name, inner(properties[name])]));
  // Few members at a time: an object with every member is rejected for one of them.
  const others = names.filter((name) => !required.has(name));
  const some = fc.subarray(others, { maxLength: Math.min(3, others.length) });
  return some.chain((optional) =>
    fc.record(
      Object.fromEntries(
        names
          .filter((name) => required.has(name) || optional.includes(name))
          .map((name) => [name, members[name] ?? fc.constant(null)]),
      ),
    ),
  );
}

const anything = (depth: number): fc.Arbitrary<unknown> => fc.jsonValue({ maxDepth: Math.max(0, 2 - depth) });

// ---------------------------------------------------------------- damage

/** JSON text that takes the place of a member. */
const ODD_TEXTS: readonly string[] = [
  'null',
  'true',
  '-1',
  '0',
  '1e400',
  '1e308',
  '0.1',
  '99999999999999999999',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"\\u202e\\ufeff\\ud83d\\udc09"',
  '"../../etc/passwd"',
  '"\'; drop table users; --"',
  '"__proto__"',
  JSON.stringify('x'.repeat(5_000)),
  '{}',
  '[]',
  '[[[[[[]]]]]]',
  '{"__proto__":{"a":1}}',
  '{"a":1,"a":2}',
  `${'['.repeat(200)}${']'.repeat(200)}`,
  'NaN',
  'Infinity',
  'undefined',
];

/** Whole bodies that are not a request. */
const ODD_BODIES: readonly string[] = [
  '',
  ' ',
  'null',
  '[]',
  '"text"',
  '7',
  '{',
  '{}',
  '{"a":}',
  '\ufeff{}',
  '{"a":1}{"b":2}',
  '{"__proto__":null,"constructor":1}',
  '['.repeat(2_000),
];

const MARK = '\u0001mark\u0001';

/** The body as text, with up to two members replaced, removed, repeated or added. */
export const damaged = (value: unknown): fc.Arbitrary<string> => {
  const paths = pathsOf(value);
  const edit = fc.record({
    path: fc.constantFrom(...paths),
    how: fc.constantFrom<'replace' | 'remove' | 'repeat' | 'add'>(
      'replace',
      'replace',
      'replace',
      'remove',
      'repeat',
      'add',
    ),
    text: fc.constantFrom(...ODD_TEXTS),
  });
  return fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .array(edit, { minLength: 1, maxLength: 2 })
        .map((edits) => edits.reduce(apply, JSON.stringify(value))),
    },
    { weight: 2, arbitrary: fc.constantFrom(...ODD_BODIES) },
    {
      weight: 1,
      arbitrary: fc.nat(JSON.stringify(value).length).map((length) => JSON.stringify(value).slice(0, length)),
    },
  );
};

interface Edit {
  readonly path: readonly (string | number)[];
  readonly how: 'replace' | 'remove' | 'repeat' | 'add';
  readonly text: string;
}

/** An edit that no longer fits, because an earlier one broke the text or removed the member, changes nothing. */
function apply(body: string, { path, how, text }: Edit): string {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return body;
  }
  const parent = path.slice(0, -1).reduce<unknown>((at, name) => (at as Record<string, unknown> | null)?.[name], value);
  const last = path.at(-1);
  if (last === undefined) return how === 'replace' ? text : body;
  if (typeof parent !== 'object' || parent === null) return body;
  const holder = parent as Record<string, unknown>;
  if (how === 'remove') {
    delete holder[last];
    return JSON.stringify(value);
  }
  if (how === 'add') holder[`${last}_`] = MARK;
  else holder[last] = MARK;
  const marked = JSON.stringify(value);
  const mark = JSON.stringify(MARK);
  if (how === 'repeat') return marked.replace(mark, () => `${text},${JSON.stringify(String(last))}:${text}`);
  return marked.replace(mark, () => text);
}

/** Paths of all members, the whole value first. */
function pathsOf(value: unknown, at: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [at];
  const members: [string | number, unknown][] = Array.isArray(value)
    ? value.map((item, n) => [n, item])
    : Object.entries(value);
  return [at, ...members.flatMap(([name, member]) => pathsOf(member, [...at, name]))].slice(0, 60);
}
