import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENDPOINTS, errorFormatOf, OPERATIONS, OPERATOR_ENDPOINTS } from '../../rules/index.ts';
import { matchRoute, methodsOf, ROUTES } from './routes.ts';

test('every operation has its route, and its alias where the table has one', () => {
  for (const operation of OPERATIONS) {
    const row = ENDPOINTS[operation];
    const routes = ROUTES.filter((route) => route.operation === operation && route.method !== 'HEAD');
    const alias = 'alias' in row ? [[row.method, row.alias]] : [];
    assert.deepEqual(
      routes.map(({ method, path }) => [method, path]),
      [[row.method, row.path], ...alias],
      operation,
    );
  }
  const operators = ROUTES.filter(({ operation, method }) => operation in OPERATOR_ENDPOINTS && method !== 'HEAD');
  assert.equal(operators.length, Object.keys(OPERATOR_ENDPOINTS).length);
});

test('every GET that the gateway responds to by itself has HEAD too', () => {
  const heads = ROUTES.filter(({ method }) => method === 'HEAD').map(({ operation }) => operation);
  for (const operation of ['models.list', 'models.get', 'usage.get', 'generate.models', 'videos.get', 'videos.content'])
    assert.ok(
      heads.some((head) => head === operation),
      operation,
    );
  for (const operation of ['responses.socket', 'responses.get', 'sessions.return', 'provider.report'])
    assert.ok(!heads.some((head) => head === operation), operation);
});

test('no two routes have the same method and path', () => {
  const names = ROUTES.map(({ method, path }) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
  assert.equal(new Set(names).size, names.length);
});

test('errorFormatOf returns the error format of the endpoint for its path', () => {
  for (const { path, errorFormat } of ROUTES) assert.equal(errorFormatOf(path), errorFormat, path);
  assert.equal(errorFormatOf('/v1/models/ft:some-model:org'), 'openai');
});

test('matchRoute returns the route and its decoded parameters', () => {
  const found = (method: string, path: string) => {
    const match = matchRoute(method, path);
    return match && [match.route.operation, match.params];
  };
  assert.deepEqual(found('POST', '/v1/messages'), ['messages.create', {}]);
  assert.deepEqual(found('GET', '/v1/models/some%2Fmodel%20x'), ['models.get', { model: 'some/model x' }]);
  assert.deepEqual(found('GET', '/v1/responses/resp_1/input_items'), [
    'responses.inputItems',
    { response_id: 'resp_1' },
  ]);
  assert.deepEqual(found('POST', '/v1/responses/input_tokens'), ['responses.inputTokens', {}]);
  assert.deepEqual(found('POST', '/v1beta/models/m-1:countTokens'), ['generate.count', { model: 'm-1' }]);
  assert.deepEqual(found('POST', '/v1/models/m-1:countTokens'), ['generate.count', { model: 'm-1' }]);
  for (const model of ['llama3:8b', 'anthropic.claude-v1:0', 'a:countTokens'])
    assert.deepEqual(found('POST', `/v1beta/models/${model}:generateContent`), ['generate.create', { model }]);
  for (const { method, path, operation } of ROUTES)
    assert.equal(matchRoute(method, path.replaceAll(/\{\w+\}/g, 'x'))?.route.operation, operation, path);
});

test('matchRoute returns undefined for unknown paths, methods and invalid parameters', () => {
  for (const [method, path] of [
    ['GET', '/v1/messages'],
    ['POST', '/v1/messages/'],
    ['POST', '/V1/messages'],
    ['GET', '/v1/models/a/b'],
    ['GET', '/v1/models/'],
    ['GET', '/v1/models/%zz'],
    ['GET', `/v1/models/${'x'.repeat(513)}`],
    ['POST', '/v1beta/models/a:generateContent:b'],
    ['PROPFIND', '/v1/messages'],
    ['GET', '/openapiXjson'],
    ['GET', '/console'],
    ['GET', '/console/v1'],
    ['GET', '/console/v1/none'],
    ['POST', '/console/overview'],
  ] as const)
    assert.equal(matchRoute(method, path), undefined, `${method} ${path}`);
});

test('matchRoute finds the files of the console below any path', () => {
  for (const file of ['', 'accounts/oa1', 'assets/a.js', 'v1x'])
    assert.deepEqual(matchRoute('GET', `/console/${file}`)?.params, { file });
  assert.equal(matchRoute('GET', '/console/v1/session')?.route.operation, 'console.session');
});

test('methodsOf returns the methods of all routes of a path', () => {
  assert.deepEqual(methodsOf('/v1/messages'), ['POST']);
  assert.deepEqual(methodsOf('/v1/responses/resp_1').toSorted(), ['DELETE', 'GET']);
  assert.deepEqual(methodsOf('/responses').toSorted(), ['GET', 'POST']);
  assert.deepEqual(methodsOf('/healthz'), ['GET', 'HEAD']);
  for (const path of ['', '/', '/v1', '/v1/messages/', '/v1/modelsx', '/v1/models/a/b', '/openapiXjson'])
    assert.deepEqual(methodsOf(path), [], path);
  assert.ok(methodsOf('/v1beta/models/m:generateContent').includes('POST'));
});
