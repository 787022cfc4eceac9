// set: all; a server process with marked rows, of which the tables have none today
/** Rows that are marked as deprecated. The tables have none today, so that the test marks some before the server reads them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN_ENDPOINTS, ENDPOINTS, OPERATOR_ENDPOINTS } from '../../src/rules/index.ts';

const DEPRECATED = { since: '2026-01-01', sunset: '2026-07-01', instead: 'Use GET /v2/usage.' };
const HEADERS = { deprecation: '@1767225600', sunset: 'Wed, 01 Jul 2026 00:00:00 GMT' } as const;

for (const row of [
  ENDPOINTS['usage.get'],
  ENDPOINTS['chat.create'],
  ENDPOINTS['tasks.list'],
  OPERATOR_ENDPOINTS['operator.alive'],
  ADMIN_ENDPOINTS['admin.users'],
])
  Object.assign(row, { deprecated: DEPRECATED });
/** Loaded after the change, because the routes are made from the tables when they load. */
const { basicSetup, startGateway } = await import('../support/gateway.ts');
const { openApi } = await import('../../scripts/openapi/index.ts');
const { ADMIN_SCHEMAS } = await import('../../src/api/admin/index.ts');
const { CONSOLE_SCHEMAS } = await import('../../src/api/console/index.ts');

let gateway: Awaited<ReturnType<typeof startGateway>>;
let key: string;
before(async () => {
  gateway = await startGateway({ env: { ADMIN_TOKEN: 'the-admin-token-of-this-test', CORS_ORIGINS: '*' } });
  key = (await gateway.apply(basicSetup())).openai ?? '';
});
after(() => gateway?.stop());

const statesEnd = ({ headers }: Response): boolean =>
  headers.get('deprecation') === HEADERS.deprecation &&
  headers.get('sunset') === HEADERS.sunset &&
  headers.get('link') === '</docs>; rel="deprecation"; type="text/html"';

test('G 9 r3, V 9 r3: every response of a deprecated operation has Deprecation and Sunset, errors and aliases included', async () => {
  const authorization = `Bearer ${key}`;
  const post = { method: 'POST', headers: { authorization, 'content-type': 'application/json' }, body: '{' };
  const requests: readonly (readonly [string, RequestInit, number])[] = [
    ['/v1/usage', { headers: { authorization } }, 200],
    ['/v1/usage', {}, 401],
    ['/v1/usage', { method: 'HEAD', headers: { authorization } }, 200],
    ['/v1/chat/completions', post, 400],
    ['/chat/completions', post, 400],
    ['/api/v3/contents/generations/tasks', { headers: { authorization } }, 200],
    ['/healthz', {}, 200],
    ['/admin/v1/users', { headers: { authorization: 'Bearer the-admin-token-of-this-test' } }, 200],
    ['/admin/v1/users', {}, 401],
  ];
  for (const [path, request, status] of requests) {
    const response = await fetch(gateway.url + path, request);
    assert.equal(response.status, status, path);
    assert.ok(statesEnd(response), `${path} ${status}`);
  }
});

test('operations that stay have neither header', async () => {
  const response = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  assert.deepEqual([response.headers.get('deprecation'), response.headers.get('sunset')], [null, null]);
});

test('scripts of other origins may read the headers', async () => {
  const headers = { authorization: `Bearer ${key}`, origin: 'https://app.example' };
  const response = await fetch(`${gateway.url}/v1/usage`, { headers });
  const exposed = response.headers.get('access-control-expose-headers') ?? '';
  for (const name of ['deprecation', 'sunset', 'link']) assert.ok(exposed.split(', ').includes(name), name);
});

test('openapi.json, as it is generated, marks deprecated operations and says what to use instead', () => {
  const document = openApi({ version: '1', admin: ADMIN_SCHEMAS, console: CONSOLE_SCHEMAS }) as {
    paths: Record<string, Record<string, { deprecated?: boolean; description?: string; responses: object }>>;
  };
  const usage = document.paths['/v1/usage']?.get;
  assert.equal(usage?.deprecated, true);
  assert.match(usage?.description ?? '', /2026-07-01.*Use GET \/v2\/usage\./);
  assert.equal(document.paths['/chat/completions']?.post?.deprecated, true);
  assert.equal(document.paths['/v1/models']?.get?.deprecated, undefined);
});
