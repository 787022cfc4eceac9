import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENDPOINTS, envelopeOf, OPERATIONS, OPERATOR_ENDPOINTS } from '../rules/index.ts';
import { fastifyPath, methodsOf, ROUTES } from './routes.ts';

test('every operation has its route, and its root form where it has one', () => {
  for (const operation of OPERATIONS) {
    const row = ENDPOINTS[operation];
    const paths = ROUTES.filter((route) => route.operation === operation).map(({ path }) => path);
    assert.deepEqual(paths, 'alias' in row ? [row.path, row.alias] : [row.path], operation);
  }
  assert.equal(
    ROUTES.filter(({ operation }) => operation in OPERATOR_ENDPOINTS).length,
    Object.keys(OPERATOR_ENDPOINTS).length,
  );
});

test('no two routes have the same method and path', () => {
  const names = ROUTES.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
  assert.equal(new Set(names).size, names.length);
});

test('a wrong path under an endpoint speaks the dialect of that endpoint', () => {
  for (const { path, envelope } of ROUTES) assert.equal(envelopeOf(path), envelope, path);
});

test('paths are written as the router reads them', () => {
  assert.equal(fastifyPath('/v1/models/{model}'), '/v1/models/:model');
  assert.equal(fastifyPath('/v1/responses/{response_id}/input_items'), '/v1/responses/:response_id/input_items');
  assert.equal(fastifyPath('/v1beta/models/{model}:countTokens'), '/v1beta/models/:model(^[^:/]+)::countTokens');
});

test('the methods of a path are those of its routes', () => {
  assert.deepEqual(methodsOf('/v1/messages'), ['POST']);
  assert.deepEqual(methodsOf('/v1/responses/resp_1').toSorted(), ['DELETE', 'GET']);
  assert.deepEqual(methodsOf('/responses').toSorted(), ['GET', 'POST']);
  assert.deepEqual(methodsOf('/healthz'), ['GET']);
  for (const path of ['', '/', '/v1', '/v1/messages/', '/v1/modelsx', '/v1/models/a/b', '/openapiXjson'])
    assert.deepEqual(methodsOf(path), [], path);
  assert.ok(methodsOf('/v1beta/models/m:generateContent').includes('POST'));
});
