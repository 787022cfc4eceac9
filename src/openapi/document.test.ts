import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN_SCHEMAS } from '../admin/index.ts';
import { CONSOLE_SCHEMAS } from '../console/index.ts';
import { ADMIN_OPERATIONS, adminRow, ENDPOINTS, type EndpointRow, OPERATIONS } from '../rules/index.ts';
import { openApi } from './document.ts';

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: object; readonly example?: object }>>;
  };
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
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
      assert.ok('$ref' in schema || ('properties' in schema && 'additionalProperties' in schema), operation);
  }
});

test('openApi gives an example of every body of a client', () => {
  for (const operation of OPERATIONS) {
    const row: EndpointRow = ENDPOINTS[operation];
    const bodies = Object.values(describedAt(row.method, row.path).requestBody?.content ?? {});
    const types = { none: 0, json: 1, 'multipart-or-json': 2 }[row.body.content];
    assert.equal(bodies.length, types, operation);
    for (const { example } of bodies) assert.ok(example, operation);
  }
});

test('openApi refers only to schemas that it defines', () => {
  const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(references)].toSorted(), Object.keys(document.components.schemas).toSorted());
});
