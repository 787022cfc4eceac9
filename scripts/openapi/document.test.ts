import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { ADMIN_SCHEMAS } from '../../src/api/admin/index.ts';
import { CONSOLE_SCHEMAS } from '../../src/api/console/index.ts';
import {
  ADMIN_OPERATIONS,
  adminRow,
  CONSOLE_OPERATIONS,
  ENDPOINTS,
  type EndpointRow,
  INFERENCE_ENDPOINTS,
  OPERATIONS,
  OPERATOR_OPERATIONS,
} from '../../src/rules/index.ts';
import { type JsonSchema, violations } from '../../test/support/json-schema.ts';
import { openApi } from './document.ts';
import { queryParameters } from './zod.ts';

interface Content {
  readonly schema: JsonSchema;
  readonly example?: unknown;
}
interface ResponseObject {
  readonly content?: Readonly<Record<string, Content>>;
}
interface Described {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
  };
  readonly tags: readonly { readonly name: string }[];
}

const document = openApi({ version: '1.0.0', admin: ADMIN_SCHEMAS, console: CONSOLE_SCHEMAS }) as Document;
const describedAt = (method: string, path: string): Described =>
  document.paths[path]?.[method.toLowerCase()] ?? assert.fail(`${method} ${path} is not described`);

test('openApi describes the query and the body of every admin operation by its schemas', () => {
  for (const operation of ADMIN_OPERATIONS) {
    const { method, path } = adminRow(operation);
    const { parameters = [], requestBody } = describedAt(method, path);
    const query = parameters.filter((parameter) => parameter.in === 'query');
    assert.deepEqual(
      query.map(({ name }) => name),
      Object.keys(ADMIN_SCHEMAS[operation].query.shape),
      operation,
    );
    assert.equal(requestBody !== undefined, !['GET', 'DELETE'].includes(method), operation);
    for (const { schema } of Object.values(requestBody?.content ?? {}))
      assert.ok(
        typeof schema === 'object' &&
          ('$ref' in schema || ('properties' in schema && 'additionalProperties' in schema)),
        operation,
      );
  }
});

test('openApi gives an example of every body of a client', () => {
  for (const operation of OPERATIONS) {
    const row: EndpointRow = ENDPOINTS[operation];
    const bodies = Object.values(describedAt(row.method, row.path).requestBody?.content ?? {});
    const types = { none: 0, json: 1, multipart: 1, bytes: 1, 'multipart-or-json': 2 }[row.body.content];
    assert.equal(bodies.length, types, operation);
    for (const { example } of bodies) assert.ok(example, operation);
  }
});

test('openApi lists words without blanks around them', () => {
  const words = [...JSON.stringify(document).matchAll(/"enum":(\[[^\]]*\])/g)].flatMap(([, words = '']) =>
    JSON.parse(words),
  );
  assert.ok(words.length > 0);
  for (const word of words.filter((word) => typeof word === 'string')) assert.match(word, /^\S(.*\S)?$/);
});

test('openApi refers only to schemas that it defines', () => {
  const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(references)].toSorted(), Object.keys(document.components.schemas).toSorted());
});

const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const shared = (response: ResponseObject | { readonly $ref: string }): ResponseObject =>
  '$ref' in response
    ? (document.components.responses[response.$ref.split('/').at(-1) ?? ''] ?? assert.fail(response.$ref))
    : response;
const responsesOf = ({ responses }: Described): ResponseObject[] => Object.values(responses).map(shared);

test('openApi describes every operation of every table once, in a chapter of the reference', () => {
  const rows = [...OPERATIONS, ...ADMIN_OPERATIONS, ...CONSOLE_OPERATIONS, ...OPERATOR_OPERATIONS];
  const names = operations.map(({ operationId }) => operationId);
  assert.equal(new Set(names).size, names.length);
  for (const operation of rows) assert.ok(names.includes(operation), operation);
  const chapters = document.tags.map(({ name }) => name);
  for (const { tags, summary } of operations) assert.ok(chapters.includes(tags[0] ?? '') && summary !== '');
});

test('openApi has errors with their codes for every operation, and a success for each that is not refused', () => {
  const refused = new Set(
    Object.entries(INFERENCE_ENDPOINTS)
      .filter(([, { groups }]) => Object.values(groups).every(({ kind }) => kind === 'refuse'))
      .map(([name]) => name),
  );
  for (const { operationId, responses } of operations) {
    assert.equal(
      Object.keys(responses).some((status) => /^[123]/.test(status)),
      !refused.has(operationId),
      operationId,
    );
    assert.ok('503' in responses || '529' in responses, operationId);
  }
});

const resolve = (ref: string): JsonSchema => document.components.schemas[ref.split('/').at(-1) ?? ''] ?? false;

interface Keywords {
  readonly $ref?: string;
  readonly properties?: object;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

/** Any value, or an object with whatever members, also as items of a list. */
function saysNothing(schema: JsonSchema): boolean {
  if (typeof schema === 'boolean') return schema;
  const { $ref, properties, items, anyOf, oneOf, allOf } = schema as Keywords;
  const choices = anyOf ?? oneOf;
  if ($ref !== undefined) return saysNothing(resolve($ref));
  if (properties) return false;
  if (choices) return choices.some(saysNothing);
  if (allOf) return allOf.every(saysNothing);
  if (schema.type === 'array') return saysNothing(items ?? true);
  return schema.type === undefined || schema.type === 'object';
}

test('openApi has a schema for every body of every operation', () => {
  for (const operation of operations)
    for (const { content = {} } of [operation.requestBody ?? {}, ...responsesOf(operation)])
      for (const [type, { schema }] of Object.entries(content))
        assert.ok(!saysNothing(schema), `${operation.operationId}: ${type}`);
});

/** Its reply is a header. */
const WITHOUT_CONTENT = ['googleFiles.upload', 'googleFiles.upload.root'];

test('openApi describes the content of every success but 204', () => {
  for (const { operationId, responses } of operations)
    for (const [status, response] of Object.entries(responses))
      if (/^2/.test(status) && !WITHOUT_CONTENT.includes(operationId))
        assert.equal('content' in shared(response), status !== '204', `${operationId} ${status}`);
});

test('openApi fits its own examples', () => {
  for (const operation of operations)
    for (const [type, { schema, example }] of [operation.requestBody ?? {}, ...responsesOf(operation)].flatMap((part) =>
      Object.entries(part.content ?? {}),
    ))
      if (example !== undefined && type === 'application/json')
        assert.deepEqual(violations(schema, example, resolve), [], operation.operationId);
});

test('queryParameters marks those that a request has to have', () => {
  const query = z.strictObject({ group: z.string(), user: z.string().optional(), count: z.coerce.number().default(0) });
  const required = queryParameters(query).filter((parameter) => parameter.required);
  assert.deepEqual(
    required.map(({ name }) => name),
    ['group'],
  );
});

test('openApi describes the stream of every operation that can have one', () => {
  const streaming = ['messages.create', 'chat.create', 'responses.create', 'images.generate', 'images.edit'];
  for (const name of [...streaming, 'interactions.create', 'interactions.get']) {
    const operation = operations.find(({ operationId }) => operationId === name) ?? assert.fail(name);
    assert.ok(
      responsesOf(operation).some(({ content = {} }) => 'text/event-stream' in content),
      name,
    );
  }
});
