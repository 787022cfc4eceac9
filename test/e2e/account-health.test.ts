/** Health of upstream accounts: which failures put an account out of use, for what, for how long, and where operators see it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { type Canned, jsonResponse, type Script, startCanned } from '../support/canned.ts';
import { certificateFor } from '../support/certificate.ts';
import { runHere } from '../support/cli.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { callVideo, TASKS, taskBody, videoSetup } from '../support/video.ts';
import { until } from '../support/wait.ts';

let provider: Canned;
let gateway: TestGateway;
let key: string;
const admin = adminApi(() => gateway.url);

before(async () => {
  provider = await startCanned();
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
});
after(async () => {
  await gateway?.stop();
  await provider?.close();
});

const accountIds = ['a', 'b', 'c'];
let round = 0;
/** New credentials end the cooldowns of the test before. */
beforeEach(async () => {
  round += 1;
  provider.requests.length = 0;
  key = (await applyKeys(`key-${round}`)) ?? key;
});

async function applyKeys(apiKey: string): Promise<string | undefined> {
  const keys = await gateway.apply({
    groups: [{ id: 'claude', style: 'messages' }],
    accounts: accountIds.map((id) => ({ id, group: 'claude', base_url: provider.url, api_key: `${apiKey}-${id}` })),
    models: [{ id: '*', groups: ['claude'] }],
    users: [{ id: 'ana' }],
    keys: [{ user: 'ana', group: 'claude' }],
  });
  return keys.claude;
}

const send = (model: string, token = key): Promise<Response> =>
  fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }),
  });

const REPLY = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
});

const errorBody = (type: string, message: string): string =>
  JSON.stringify({ type: 'error', error: { type, message } });
const firewall: Script = (response) => {
  response.writeHead(403, { 'content-type': 'text/html', 'retry-after': '3600' });
  response.end('<html>Your request was blocked. API key is invalid.</html>');
};
/** Responds by the model of the request; other models work. */
const respondTo = (model: string, script: Script): void =>
  provider.respondWith((response, request) =>
    (JSON.parse(request.body.toString()).model === model ? script : jsonResponse(REPLY))(response, request),
  );

for (const [about, script] of [
  ['a page of a firewall', firewall],
  ['a 401 without an authentication error', jsonResponse(errorBody('api_error', 'no'), 401)],
  ['a 403 about one model', jsonResponse(errorBody('permission_error', 'No access to this model.'), 403)],
  ['an unknown file', jsonResponse(errorBody('not_found_error', 'File not found: file_1'), 404)],
] as const)
  test(`one caller's request that gets ${about} leaves the pool open for others`, async () => {
    respondTo('odd', script);
    for (let n = 0; n < 3; n++) assert.ok((await send('odd')).status < 500);
    for (let n = 0; n < 5; n++) assert.equal((await send('usual')).status, 200);
    // The same model too: another request of it may be fine.
    provider.respondWith(jsonResponse(REPLY));
    assert.equal((await send('odd')).status, 200);
  });

test('a request that every account forbids gets 403, which SDKs do not retry', async () => {
  provider.respondWith(firewall);
  const response = await send('odd');
  const text = await response.text();
  assert.equal(response.status, 403, text);
  assert.equal(JSON.parse(text).error.code, 'upstream_error');
  assert.doesNotMatch(text, /html|blocked/);
});

test('a rate limit of one model leaves the other models of the account open', async () => {
  respondTo('busy', jsonResponse(errorBody('rate_limit_error', 'slow down'), 429, { 'retry-after': '60' }));
  assert.equal((await send('busy')).status, 429);
  assert.equal((await send('usual')).status, 200);
});

interface CooledAccount {
  readonly id: string;
  readonly state: string;
  readonly cooldowns: readonly Record<string, unknown>[];
}
const accounts = async () => (await admin<{ data: CooledAccount[] }>('GET', '/accounts')).body.data;

test('a rejected credential takes every account out of use, and a corrected one is used at once', async () => {
  provider.respondWith((response, request) =>
    String(request.headers['x-api-key']).startsWith('wrong')
      ? jsonResponse(errorBody('authentication_error', 'invalid x-api-key'), 401)(response, request)
      : jsonResponse(REPLY)(response, request),
  );
  await applyKeys('wrong');
  const once = await send('usual');
  assert.deepEqual([once.status, once.headers.get('retry-after')], [529, '1'], 'one rejection is not believed');
  const twice = await send('usual');
  provider.requests.length = 0;
  for (const { status, headers } of [twice, await send('other')]) {
    const wait = Number(headers.get('retry-after'));
    assert.equal(status, 529);
    assert.ok(wait > 250 && wait <= 300, `from the second response on: ${wait}`);
  }
  assert.equal(provider.requests.length, 0, 'no request with a dead credential');
  await applyKeys('right');
  assert.equal((await send('usual')).status, 200);
});

test('operators see a cooldown in the log, the metrics, the admin API and doctor, with its reason and replica', async () => {
  provider.respondWith((response, request) =>
    jsonResponse(errorBody('billing_error', `no credit for ${request.headers['x-api-key']}`), 402)(response, request),
  );
  await send('usual');
  const line = gateway.log.findLast(({ msg, account }) => msg === 'account.cooling' && account === 'a');
  assert.deepEqual([line?.reason, line?.code], ['quota_exhausted', 'billing_error']);

  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  assert.match(metrics, /dragoman_account_cooling\{account="a",scope="account"\} 1/);
  assert.match(metrics, /dragoman_account_faults_total\{account="a",fault="quota_exhausted"\} [1-9]/);
  assert.match(metrics, /dragoman_account_faults_total\{account="a",fault="credential"\} \d/, 'from zero on');

  await until('the report', async () => (await accounts()).every(({ cooldowns }) => cooldowns.length === 1));
  const first = (await accounts()).find(({ id }) => id === 'a');
  const { since, until: end, replica, host, ...cooldown } = first?.cooldowns[0] ?? {};
  assert.deepEqual(cooldown, {
    model: null,
    operation: null,
    reason: 'quota_exhausted',
    provider_code: 'billing_error',
    message: 'no credit for [redacted]',
    faults: 1,
    ejections: 0,
    in_use: false,
    state: 'out',
  });
  assert.equal(first?.state, 'cooling');
  assert.match(String(replica), /^rep_/);
  assert.ok(typeof host === 'string');
  assert.equal(Date.parse(String(end)) - Date.parse(String(since)), 300_000);

  const { DATABASE_URL, MASTER_KEY, DATA_DIR } = gateway.context.config;
  const { stdout } = await runHere(['doctor'], { env: { DATABASE_URL, MASTER_KEY, DATA_DIR } });
  assert.match(
    stdout,
    /BAD {3}Account +a cools down on \S+ \(began \d+ s ago, ends in \d.*\): quota_exhausted, billing_error, "no credit/,
  );
  assert.doesNotMatch(stdout, new RegExp(`key-${round}-`));

  provider.respondWith(jsonResponse(REPLY));
  await applyKeys('new');
  await until('the recovery', async () => (await accounts()).every(({ cooldowns }) => cooldowns.length === 0));
  const recovered = gateway.log.findLast(({ msg, account }) => msg === 'account.recovered' && account === 'a');
  assert.equal(recovered?.reason, 'quota_exhausted');
  // By the new catalog, or by the shared rows, whichever arrives first.
  assert.match(String(recovered.because), /^(?:changed|elsewhere)$/);
});

test('operators see why a provider cannot be reached: its name, its port, its certificate', async () => {
  const tls = createTlsServer(certificateFor('provider.test', -1)).listen(0, '127.0.0.1');
  tls.on('tlsClientError', () => {});
  await once(tls, 'listening');
  const { port } = tls.address() as AddressInfo;
  const groups = {
    name: 'http://nowhere.invalid',
    port: 'http://127.0.0.1:9',
    certificate: `https://127.0.0.1:${port}`,
  };
  const ids = Object.keys(groups);
  try {
    const keys = await gateway.apply({
      groups: ids.map((id) => ({ id, style: 'messages' })),
      accounts: Object.entries(groups).map(([id, base_url]) => ({ id, group: id, base_url, api_key: 'sk-secret-1' })),
      models: [{ id: '*', groups: ids }],
      users: [{ id: 'ana' }],
      keys: ids.map((group) => ({ user: 'ana', group })),
    });
    // As often as it takes to open a circuit.
    for (const id of ids) for (let n = 0; n < 5; n++) assert.ok((await send('usual', keys[id])).status >= 500);
    const EXPECTED = { name: /^(?:ENOTFOUND|EAI_AGAIN)$/, port: /^ECONNREFUSED$/, certificate: /CERT/ };
    await until(
      'the report',
      async () => (await accounts()).filter(({ cooldowns }) => cooldowns.length > 0).length >= 3,
    );
    const { DATABASE_URL, MASTER_KEY, DATA_DIR } = gateway.context.config;
    const { stdout } = await runHere(['doctor'], { env: { DATABASE_URL, MASTER_KEY, DATA_DIR } });
    const live = await until('the calls in the request log', async () => {
      const shown = await runHere(['doctor', '--live'], { env: { DATABASE_URL, MASTER_KEY, DATA_DIR } });
      return /Calls +[1-9]/.test(shown.stdout) ? shown : undefined;
    });
    assert.equal(live.code, 1, 'calls fail');
    for (const line of [
      /^ok {4}Process +\S+ \(rep_\w+\), up for \d+ s, \d+ charges to write$/m,
      /^BAD {3}Calls +\d+ in five minutes: [\d.]+ % failed on our side .*, [1-9]\d* % at providers, .*"why"/m,
      /^note {2}Account +certificate fails, but stays in use .*; check its base_url/m,
      /^ok {4}Queue +0 video tasks, 0 callbacks, 0 background responses$/m,
      /^(?:ok {4}|note {2})Ledger +/m,
      /^(?:ok {4}|BAD {3})Database +\d+\.\d ms for a statement, \d+ of \d+ connections, .* no standby/m,
      /Disk +\d/,
    ])
      assert.match(live.stdout, line);
    assert.ok(live.stdout.split('\n').length <= 40, 'it fits on a screen');
    for (const [id, code] of Object.entries(EXPECTED)) {
      const failed = gateway.log.findLast(({ msg, account }) => msg === 'attempt.failed' && account === id);
      assert.equal(failed?.fault, 'unreachable');
      assert.match(String(failed.reason), code);
      const line = gateway.log.findLast(({ msg, group }) => msg === 'request.completed' && group === id);
      assert.equal(line?.why, `account ${id}: no connection could be opened (${failed.reason})`);
      assert.match(String(line.action), /^check base_url and proxy/);
      const [cooldown] = (await accounts()).find((account) => account.id === id)?.cooldowns ?? [];
      assert.equal(cooldown?.provider_code, failed.reason);
      assert.match(stdout, new RegExp(`Account +${id} fails, but stays in use on .*: unreachable, ${failed.reason};`));
    }
    assert.doesNotMatch(stdout + JSON.stringify(gateway.log), /sk-secret-1/);
  } finally {
    tls.close();
  }
});

test('a video task that one account refuses leaves it open, unless the provider blames the account or its model', async () => {
  const own = await startGateway({ setup: videoSetup(provider.url) });
  const create = async (model: string, code?: string) => {
    const before = provider.requests.length;
    provider.respondWith(
      code === undefined
        ? jsonResponse(JSON.stringify({ id: `cgt-${before}` }))
        : jsonResponse(JSON.stringify({ error: { code, message: 'no' } }), 403),
    );
    const { status } = await callVideo(own.url, TASKS, { body: taskBody('EP', { model }) });
    return { status, sent: provider.requests.length - before };
  };
  try {
    for (const code of ['OperationDenied.Something', 'AccessDenied', 'UnknownCode'])
      assert.deepEqual(await create('demo-video-2-0-ep', code), { status: 503, sent: 1 });
    assert.deepEqual(await create('demo-video-2-0-ep'), { status: 200, sent: 1 });
    for (let n = 0; n < 2; n += 1) await create('demo-video-2-0-ep', 'AuthenticationError');
    assert.deepEqual(await create('demo-video-2-0-fast-ep'), { status: 503, sent: 0 });
  } finally {
    await own.stop();
  }
});

// The last test: it uses up the budget of retries.
test('new credentials are saved while the old ones are being rejected', async () => {
  provider.respondWith(jsonResponse(errorBody('authentication_error', 'invalid x-api-key'), 401));
  const reject = async (): Promise<void> => void (await (await send('usual')).text());
  // Twice, so that the gateway parks the accounts while the configuration forgets their faults.
  for (let n = 0; n < 20; n += 1) {
    await reject();
    await Promise.all([reject(), reject(), applyKeys(`renewed-${n}`)]);
  }
});
