import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runs } from '../../../../test/support/properties.ts';
import { isObject } from '../../wire/read.ts';
import { fromGoogleSchema } from '../client/from-google-schema.ts';
import { toGoogleParameters, toGoogleSchema } from './to-google-schema.ts';

const property = (schema: unknown) => {
  const result = toGoogleParameters({ type: 'object', properties: { p: schema } });
  return isObject(result?.properties) ? result.properties.p : undefined;
};

test('keywords the provider lacks are left out', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
    properties: { n: { type: 'string', uniqueItems: true, contentEncoding: 'base64', minLength: 1 } },
    required: ['n', 'ghost'],
  };
  assert.deepEqual(toGoogleParameters(schema), {
    type: 'OBJECT',
    properties: { n: { type: 'STRING', minLength: 1 } },
    required: ['n'],
  });
});

test('a property that is named like a keyword survives', () => {
  const names = [
    'title',
    'default',
    'format',
    'type',
    '$ref',
    'const',
    'enum',
    'items',
    'properties',
    'anyOf',
    '__proto__',
  ];
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
  const result = toGoogleParameters({ type: 'object', properties, required: names });
  assert.ok(isObject(result?.properties));
  assert.deepEqual(Object.keys(result.properties), names);
  assert.deepEqual(result.required, names);
});

test('references are inlined, with what stands beside them', () => {
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/a~1b', description: 'mine' }, c: { $ref: '#/definitions/c%20d' } },
    $defs: { 'a/b': { type: 'integer', description: 'theirs' } },
    definitions: { 'c d': { $ref: '#/$defs/a~1b' } },
  };
  assert.deepEqual(toGoogleParameters(schema)?.properties, {
    a: { type: 'INTEGER', description: 'mine' },
    c: { type: 'INTEGER', description: 'theirs' },
  });
});

test('a type that names itself ends after eight levels in a plain object', () => {
  const schema = { type: 'object', properties: { next: { $ref: '#' } } };
  const text = JSON.stringify(toGoogleParameters(schema));
  // Eight references are followed; the ninth is the end.
  assert.equal(text.split('"next"').length - 1, 9);
  assert.match(text, /"next":\{"type":"OBJECT"\}/);
});

test('a type that names itself many times costs a bounded amount', () => {
  const names = Array.from({ length: 40 }, (_, n) => `p${n}`);
  const selves = Object.fromEntries(names.map((name) => [name, { $ref: '#' }]));
  const started = performance.now();
  toGoogleSchema({ type: 'object', properties: selves });
  toGoogleSchema({ allOf: names.map(() => ({ $ref: '#' })), properties: selves });
  toGoogleSchema({ anyOf: names.map(() => ({ $ref: '#' })), properties: selves });
  assert.ok(performance.now() - started < 2000);
});

test('a reference to nowhere or to another document is anything, which is a string', () => {
  assert.deepEqual(property({ $ref: '#/$defs/none' }), { type: 'STRING' });
  assert.deepEqual(property({ $ref: 'https://example.test/schema' }), { type: 'STRING' });
  assert.deepEqual(property(true), { type: 'STRING' });
});

test('const becomes enum; values that are not strings are told in words', () => {
  assert.deepEqual(property({ const: 'a' }), { type: 'STRING', enum: ['a'] });
  assert.deepEqual(property({ enum: ['a', '', null, 'b'] }), { type: 'STRING', nullable: true, enum: ['a', 'b'] });
  assert.deepEqual(property({ enum: [1, 2] }), { type: 'INTEGER', description: 'Allowed values: 1, 2.' });
  assert.deepEqual(property({ const: true, description: 'On.' }), {
    type: 'BOOLEAN',
    description: 'On. Allowed values: true.',
  });
});

test('null among the types or branches becomes nullable', () => {
  assert.deepEqual(property({ type: ['string', 'null'] }), { type: 'STRING', nullable: true });
  assert.deepEqual(property({ anyOf: [{ type: 'number' }, { type: 'null' }] }), { type: 'NUMBER', nullable: true });
  assert.deepEqual(property({ type: 'null' }), { type: 'STRING', nullable: true });
});

test('several types and oneOf become anyOf, which stands alone', () => {
  assert.deepEqual(property({ type: ['string', 'integer'], description: 'd', minLength: 2 }), {
    anyOf: [
      { type: 'STRING', description: 'd', minLength: 2 },
      { type: 'INTEGER', description: 'd' },
    ],
  });
  assert.deepEqual(property({ oneOf: [{ type: 'string' }, { type: 'string' }] }), { type: 'STRING' });
  assert.deepEqual(property({ description: 'd', oneOf: [{ type: 'string' }, { type: 'array' }] }), {
    anyOf: [
      { type: 'STRING', description: 'd' },
      { type: 'ARRAY', description: 'd', items: { type: 'STRING' } },
    ],
  });
});

test('alternatives that only differ in what is required keep the properties that stand beside them', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } },
    anyOf: [{ required: ['a', 'c'] }, { required: ['b', 'c'] }],
  };
  assert.deepEqual(toGoogleParameters(schema), {
    type: 'OBJECT',
    properties: { a: { type: 'STRING' }, b: { type: 'STRING' }, c: { type: 'STRING' } },
    required: ['c'],
  });
});

test('allOf is merged: both bounds, both lists of required names, shared properties too', () => {
  const schema = {
    type: 'object',
    allOf: [
      { properties: { a: { type: 'integer', minimum: 1 } }, required: ['a'] },
      { properties: { a: { minimum: 3, maximum: 9 }, b: { type: 'boolean' } }, required: ['b'] },
    ],
  };
  assert.deepEqual(toGoogleParameters(schema), {
    type: 'OBJECT',
    properties: { a: { type: 'INTEGER', minimum: 3, maximum: 9 }, b: { type: 'BOOLEAN' } },
    required: ['a', 'b'],
  });
});

test('exclusive bounds become bounds, the next whole number for whole types', () => {
  assert.deepEqual(property({ type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 }), {
    type: 'INTEGER',
    minimum: 1,
    maximum: 9,
  });
  assert.deepEqual(property({ type: 'number', minimum: 2, exclusiveMinimum: 0.5 }), { type: 'NUMBER', minimum: 2 });
  assert.deepEqual(property({ type: 'number', minimum: 2, exclusiveMinimum: true }), { type: 'NUMBER', minimum: 2 });
});

test('only formats the provider knows remain', () => {
  assert.deepEqual(property({ type: 'string', format: 'date-time' }), { type: 'STRING', format: 'date-time' });
  assert.deepEqual(property({ type: 'string', format: 'email' }), { type: 'STRING' });
  assert.deepEqual(property({ type: 'integer', format: 'int64' }), { type: 'INTEGER', format: 'int64' });
});

test('an object without properties declares no parameters', () => {
  for (const schema of [{}, { type: 'object' }, { type: 'object', properties: {} }, { type: 'string' }, true]) {
    assert.equal(toGoogleParameters(schema), undefined);
  }
});

test('lists say what is in them; tuples become lists of their members', () => {
  assert.deepEqual(property({ type: 'array' }), { type: 'ARRAY', items: { type: 'STRING' } });
  assert.deepEqual(property({ type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] }), {
    type: 'ARRAY',
    items: { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] },
  });
});

// ---------------------------------------------------------------- laws

const name = fc.oneof(
  fc.constantFrom('a', 'b', 'title', 'type', 'default', 'format', '$ref', '__proto__'),
  fc.string({ maxLength: 5 }),
);
const { schema: anySchema } = fc.letrec((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.boolean(), fc.constant({})),
    fc.record(
      {
        type: fc.oneof(
          fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object', 'null', 'nonsense'),
          fc.subarray(['string', 'integer', 'object', 'null']),
        ),
        description: fc.string(),
        title: fc.string(),
        format: fc.constantFrom('date-time', 'email', 'int32'),
        enum: fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { maxLength: 3 }),
        const: fc.oneof(fc.string(), fc.boolean(), fc.constant(null)),
        minimum: fc.integer(),
        exclusiveMaximum: fc.oneof(fc.integer(), fc.boolean()),
        required: fc.array(name, { maxLength: 3 }),
        properties: fc.dictionary(name, tie('schema'), { maxKeys: 4 }),
        items: tie('schema'),
        anyOf: fc.array(tie('schema'), { maxLength: 3 }),
        oneOf: fc.array(tie('schema'), { maxLength: 3 }),
        allOf: fc.array(tie('schema'), { maxLength: 2 }),
        additionalProperties: tie('schema'),
        $ref: fc.constantFrom('#', '#/properties/a', '#/items', '#/$defs/x'),
      },
      { requiredKeys: [] },
    ),
  ),
}));

const ALLOWED = new Set(
  (
    'type format title description nullable enum maxItems minItems properties required minProperties maxProperties ' +
    'minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum'
  ).split(' '),
);
const TYPES = new Set(['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT']);

function checkNode(node: unknown): void {
  assert.ok(isObject(node));
  for (const [keyword, value] of Object.entries(node)) {
    assert.ok(ALLOWED.has(keyword), keyword);
    assert.notEqual(value, undefined);
  }
  if (Array.isArray(node.anyOf)) {
    assert.deepEqual(Object.keys(node), ['anyOf']);
    assert.ok(node.anyOf.length > 1);
    for (const branch of node.anyOf) checkNode(branch);
    return;
  }
  assert.ok(TYPES.has(String(node.type)));
  if (node.enum !== undefined)
    assert.ok(Array.isArray(node.enum) && node.type === 'STRING' && node.enum.every((w) => w));
  if (node.type === 'ARRAY') checkNode(node.items);
  const properties = isObject(node.properties) ? node.properties : {};
  if (node.properties !== undefined) assert.ok(Object.keys(properties).length > 0);
  for (const value of Object.values(properties)) checkNode(value);
  if (Array.isArray(node.required)) for (const word of node.required) assert.ok(Object.hasOwn(properties, word));
}

/** Inlining can grow a schema to the bound on its nodes, where a second pass would cut it again. */
const isSmall = (schema: unknown): boolean => JSON.stringify(schema).length < 50_000;

test('law: whatever comes in, what goes out is a schema the provider takes', () => {
  fc.assert(
    fc.property(anySchema, (schema) => {
      checkNode(toGoogleSchema(schema));
      const parameters = toGoogleParameters(schema);
      if (parameters) assert.equal(parameters.type, 'OBJECT');
    }),
    { numRuns: runs(300) },
  );
});

test('law: what has been cut down is not cut down further', () => {
  fc.assert(
    fc.property(anySchema, (schema) => {
      const once = toGoogleSchema(schema);
      fc.pre(isSmall(once));
      assert.deepEqual(toGoogleSchema(once), once);
    }),
    { numRuns: runs(300) },
  );
});

test('law: a property of a plain object is never lost, whatever its name', () => {
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 5 }), (names) => {
      const properties = Object.fromEntries(names.map((word) => [word, { type: 'string' }]));
      const result = toGoogleParameters({ type: 'object', properties, required: names });
      assert.ok(isObject(result?.properties));
      assert.deepEqual(new Set(Object.keys(result.properties)), new Set(names));
    }),
  );
});

test('law: read back as JSON Schema and cut down again, a schema of the provider is unchanged', () => {
  fc.assert(
    fc.property(anySchema, (schema) => {
      const subset = toGoogleSchema(schema);
      fc.pre(isSmall(subset));
      assert.deepEqual(toGoogleSchema(fromGoogleSchema(subset)), subset);
    }),
    { numRuns: runs(300) },
  );
});
