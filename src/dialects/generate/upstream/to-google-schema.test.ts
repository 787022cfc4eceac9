import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cpuMsOf, slowness } from '../../../../test/support/cpu-time.ts';
import { isSmallSchema, jsonSchemas, propertyNames } from '../../../../test/support/dialects/generate.ts';
import { runs } from '../../../../test/support/properties.ts';
import { isObject } from '../../wire/read.ts';
import { toGoogleParameters, toGoogleSchema } from './to-google-schema.ts';

const property = (schema: unknown) => {
  const result = toGoogleParameters({ type: 'object', properties: { p: schema } });
  return isObject(result?.properties) ? result.properties.p : undefined;
};

test('toGoogleParameters drops unsupported keywords', () => {
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

test('toGoogleParameters keeps properties that are named like keywords', () => {
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

test('toGoogleParameters inlines references with the keywords next to them', () => {
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

test('toGoogleParameters ends recursive types after eight levels with a plain object', () => {
  const schema = { type: 'object', properties: { next: { $ref: '#' } } };
  const text = JSON.stringify(toGoogleParameters(schema));
  // The property itself and eight resolved references.
  assert.equal(text.split('"next"').length - 1, 9);
  assert.match(text, /"next":\{"type":"OBJECT"\}/);
});

test('toGoogleSchema converts a type with many references to itself in bounded time', () => {
  const names = Array.from({ length: 40 }, (_, n) => `p${n}`);
  const selves = Object.fromEntries(names.map((name) => [name, { $ref: '#' }]));
  const ms = cpuMsOf(() => {
    toGoogleSchema({ type: 'object', properties: selves });
    toGoogleSchema({ allOf: names.map(() => ({ $ref: '#' })), properties: selves });
    toGoogleSchema({ anyOf: names.map(() => ({ $ref: '#' })), properties: selves });
  });
  assert.ok(ms < 2_000 * slowness(), `${ms} ms`);
});

test('toGoogleParameters converts unresolvable references to strings', () => {
  assert.deepEqual(property({ $ref: '#/$defs/none' }), { type: 'STRING' });
  assert.deepEqual(property({ $ref: 'https://example.test/schema' }), { type: 'STRING' });
  assert.deepEqual(property(true), { type: 'STRING' });
});

test('toGoogleParameters converts const to enum and describes values that are not strings', () => {
  assert.deepEqual(property({ const: 'a' }), { type: 'STRING', enum: ['a'] });
  assert.deepEqual(property({ enum: ['a', '', null, 'b'] }), { type: 'STRING', nullable: true, enum: ['a', 'b'] });
  assert.deepEqual(property({ enum: [1, 2] }), { type: 'INTEGER', description: 'Allowed values: 1, 2.' });
  assert.deepEqual(property({ const: true, description: 'On.' }), {
    type: 'BOOLEAN',
    description: 'On. Allowed values: true.',
  });
});

test('toGoogleParameters converts null types and branches to nullable', () => {
  assert.deepEqual(property({ type: ['string', 'null'] }), { type: 'STRING', nullable: true });
  assert.deepEqual(property({ anyOf: [{ type: 'number' }, { type: 'null' }] }), { type: 'NUMBER', nullable: true });
  assert.deepEqual(property({ type: 'null' }), { type: 'STRING', nullable: true });
});

test('toGoogleParameters converts type lists and oneOf to anyOf without sibling keywords', () => {
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

test('toGoogleParameters keeps properties next to alternatives that differ only in required', () => {
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

test('toGoogleParameters merges bounds, required names and properties of allOf', () => {
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

test('toGoogleParameters converts exclusive bounds to inclusive ones', () => {
  assert.deepEqual(property({ type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 }), {
    type: 'INTEGER',
    minimum: 1,
    maximum: 9,
  });
  assert.deepEqual(property({ type: 'number', minimum: 2, exclusiveMinimum: 0.5 }), { type: 'NUMBER', minimum: 2 });
  assert.deepEqual(property({ type: 'number', minimum: 2, exclusiveMinimum: true }), { type: 'NUMBER', minimum: 2 });
});

test('toGoogleParameters keeps only formats of the provider', () => {
  assert.deepEqual(property({ type: 'string', format: 'date-time' }), { type: 'STRING', format: 'date-time' });
  assert.deepEqual(property({ type: 'string', format: 'email' }), { type: 'STRING' });
  assert.deepEqual(property({ type: 'integer', format: 'int64' }), { type: 'INTEGER', format: 'int64' });
});

test('toGoogleParameters returns undefined for a schema without properties', () => {
  for (const schema of [{}, { type: 'object' }, { type: 'object', properties: {} }, { type: 'string' }, true]) {
    assert.equal(toGoogleParameters(schema), undefined);
  }
});

test('toGoogleParameters adds missing items and converts tuples to lists', () => {
  assert.deepEqual(property({ type: 'array' }), { type: 'ARRAY', items: { type: 'STRING' } });
  assert.deepEqual(property({ type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] }), {
    type: 'ARRAY',
    items: { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] },
  });
});

// ---------------------------------------------------------------- properties

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
    assert.ok(Array.isArray(node.enum) && node.type === 'STRING' && node.enum.every((value) => value));
  if (node.type === 'ARRAY') checkNode(node.items);
  const properties = isObject(node.properties) ? node.properties : {};
  if (node.properties !== undefined) assert.ok(Object.keys(properties).length > 0);
  for (const value of Object.values(properties)) checkNode(value);
  if (Array.isArray(node.required)) for (const name of node.required) assert.ok(Object.hasOwn(properties, name));
}

test('toGoogleSchema returns a valid Google schema for every input', () => {
  fc.assert(
    fc.property(jsonSchemas, (schema) => {
      checkNode(toGoogleSchema(schema));
      const parameters = toGoogleParameters(schema);
      if (parameters) assert.equal(parameters.type, 'OBJECT');
    }),
    { numRuns: runs(300) },
  );
});

test('toGoogleSchema is idempotent', () => {
  fc.assert(
    fc.property(jsonSchemas, (schema) => {
      const once = toGoogleSchema(schema);
      fc.pre(isSmallSchema(once));
      assert.deepEqual(toGoogleSchema(once), once);
    }),
    { numRuns: runs(300) },
  );
});

test('toGoogleParameters keeps every property of a plain object', () => {
  fc.assert(
    fc.property(fc.uniqueArray(propertyNames, { minLength: 1, maxLength: 5 }), (names) => {
      const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
      const result = toGoogleParameters({ type: 'object', properties, required: names });
      assert.ok(isObject(result?.properties));
      assert.deepEqual(new Set(Object.keys(result.properties)), new Set(names));
    }),
  );
});
