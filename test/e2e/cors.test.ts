/** Calls of browsers from other origins: off by default, on for the listed origins, never for the admin API. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { type RawResponse, request, sendRaw } from '../support/raw.ts';

const APP = 'https://app.example';
let sim: Sim;
/** Without the setting, with two origins, and with a star. */
const gateways: Record<'off' | 'listed' | 'any', TestGateway | undefined> = {
  off: undefined,
  listed: undefined,
  any: undefined,
};
let key: string;

before(async () => {
  sim = await startSim();
  gateways.off = await startGateway({ env: { ADMIN_TOKEN } });
  key = (await gateways.off.apply(basicSetup(sim.url))).openai ?? '';
  const { database } = gateways.off;
  for (const [name, CORS_ORIGINS] of [
    ['listed', `HTTPS://App.Example:443, http://localhost:5173`],
    ['any', '*'],
  ] as const)
    gateways[name] = await startGateway({ database, env: { ADMIN_TOKEN, CORS_ORIGINS } });
});
after(async () => {
  await gateways.any?.stop();
  await gateways.listed?.stop();
  await gateways.off?.stop();
  await sim?.close();
});

async function call(
  name: keyof typeof gateways,
  line: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<RawResponse> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const fields = Object.entries({ ...headers, ...(body && { 'content-length': String(Buffer.byteLength(text)) }) });
  const response = await sendRaw(gateways[name]?.url ?? '', request(`${line} HTTP/1.1`, fields, text));
  return response ?? assert.fail('no response');
}

const preflight = (name: keyof typeof gateways, path: string, origin: string, headers = 'authorization') =>
  call(name, `OPTIONS ${path}`, {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': headers,
  });

const corsHeaders = ({ headers }: RawResponse): string[] =>
  [...headers.keys()].filter((header) => header === 'vary' || header.startsWith('access-control-'));

const create = (name: keyof typeof gateways, origin: string, stream: boolean, token = key) =>
  call(
    name,
    'POST /v1/responses',
    { origin, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    { model: 'demo-responses', input: 'hello', stream },
  );

test('without CORS_ORIGINS a preflight gets 405, and no response has a header of CORS', async () => {
  const refused = await preflight('off', '/v1/responses', APP);
  assert.equal(refused.status, 405);
  assert.deepEqual(corsHeaders(refused), []);
  assert.deepEqual(corsHeaders(await create('off', APP, false)), []);
});

test('a preflight of a listed origin names the methods and the requested headers that are allowed', async () => {
  const asked =
    'Authorization,content-type,x-api-key,anthropic-version,anthropic-dangerous-direct-browser-access,openai-beta,x-goog-api-key,x-stainless-os,idempotency-key,x-evil,cookie';
  const response = await preflight('listed', '/v1/responses', APP, asked);
  assert.equal(response.status, 204);
  assert.equal(response.headers.get('access-control-allow-origin'), APP);
  assert.equal(response.headers.get('vary'), 'origin');
  assert.match(response.headers.get('access-control-allow-methods') ?? '', /\bPOST\b/);
  assert.equal(
    response.headers.get('access-control-allow-headers'),
    asked.toLowerCase().replace(',x-evil,cookie', '').replaceAll(',', ', '),
  );
  assert.equal(response.headers.get('access-control-max-age'), '7200');
  assert.equal(response.headers.get('access-control-allow-credentials'), undefined);
  assert.equal((await preflight('listed', '/v1beta/models/demo-generate:generateContent', APP)).status, 204);
});

for (const stream of [false, true])
  test(`a ${stream ? 'streamed ' : ''}response to a listed origin can be read with its request id and limits`, async () => {
    const response = await create('listed', APP, stream);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('access-control-allow-origin'), APP);
    assert.equal(response.headers.get('vary'), 'origin');
    const exposed = response.headers.get('access-control-expose-headers')?.split(', ') ?? [];
    for (const name of ['x-request-id', 'retry-after', 'x-ratelimit-remaining-requests', 'x-gateway-converted'])
      assert.ok(exposed.includes(name), name);
  });

test('an error can be read too', async () => {
  const response = await create('listed', APP, false, 'dg-unknown');
  assert.equal(response.status, 401);
  assert.equal(response.headers.get('access-control-allow-origin'), APP);
});

test('an origin that is not listed gets no permission, and its responses vary by origin', async () => {
  for (const origin of ['https://evil.example', 'https://app.example.evil', 'http://app.example', 'null']) {
    const refused = await preflight('listed', '/v1/responses', origin);
    assert.equal(refused.status, 405);
    assert.deepEqual(corsHeaders(refused), []);
    assert.deepEqual(corsHeaders(await create('listed', origin, false)), ['vary']);
  }
});

test('with a star every origin may call', async () => {
  assert.equal((await preflight('any', '/v1/messages', 'null')).headers.get('access-control-allow-origin'), '*');
  const response = await create('any', 'https://elsewhere.example', false);
  assert.equal(response.headers.get('access-control-allow-origin'), '*');
});

test('the admin API and the endpoints of the operator never take part', async () => {
  for (const name of ['listed', 'any'] as const) {
    const refused = await preflight(name, '/admin/v1/users', APP);
    assert.equal(refused.status, 405);
    assert.deepEqual(corsHeaders(refused), []);
    const users = await call(name, 'GET /admin/v1/users', { origin: APP, authorization: `Bearer ${ADMIN_TOKEN}` });
    assert.equal(users.status, 200);
    assert.deepEqual(corsHeaders(users), []);
    assert.deepEqual(corsHeaders(await call(name, 'GET /metrics', { origin: APP })), []);
  }
});
