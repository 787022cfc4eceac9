/** Accounts behind outbound proxies: calls, streams and WebSockets go through them, and their credentials stay secret. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { parseSetup } from '../../src/catalog/setup/index.ts';
import { openWorkerServices } from '../../src/program/server/command-services.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { startConnectProxy, startSocksProxy, type TestProxy } from '../support/proxy.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

const PASSWORD = 'the-secret-of-the-proxy';
const credentials = `gateway:${PASSWORD}`;

let sim: Sim;
let gateway: TestGateway;
let connectProxy: TestProxy;
let socksProxy: TestProxy;
let environmentProxy: TestProxy;
/** Shown only when they are created. */
let keys: Record<string, string> = {};
const admin = adminApi(() => gateway.url);

before(async () => {
  sim = await startSim();
  [connectProxy, socksProxy, environmentProxy] = await Promise.all([
    startConnectProxy({ credentials }),
    startSocksProxy({ credentials }),
    startConnectProxy(),
  ]);
  gateway = await startGateway({ env: { ADMIN_TOKEN, http_proxy: environmentProxy.url } });
});
after(async () => {
  await gateway.stop();
  await sim.close();
  for (const proxy of [connectProxy, socksProxy, environmentProxy]) await proxy.close();
});

/** The names of the providers do not resolve: only a proxy leads to them. */
const behindProxy = async (proxy: string): Promise<void> => {
  const setup = basicSetup(`http://provider.test:${new URL(sim.url).port}`) as { accounts: object[] };
  const created = await gateway.apply({ ...setup, accounts: setup.accounts.map((account) => ({ ...account, proxy })) });
  keys = { ...keys, ...created };
};

const post = (path: string, key: string | undefined, body: object): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** A native call, a converted stream and a turn of a WebSocket. */
async function assertServed(): Promise<void> {
  const unary = await post('/v1/responses', keys.openai, { model: 'demo-responses', input: 'hi' });
  assert.equal(unary.status, 200, await unary.text());
  const streamed = await post('/v1/chat/completions', keys.claude, {
    model: 'demo-messages',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
  });
  assert.match(await streamed.text(), /data: \[DONE\]/);
  sim.journal.clear();
  const client = await new ResponsesSocketClient(gateway.url, keys.openai ?? '').open();
  const turn = await client.turn({ model: 'demo-responses', input: 'hi' });
  assert.equal(turn.type, 'response.completed');
  assert.ok(
    sim.journal.requests.every(({ method }) => method === 'WS'),
    'the turn was relayed',
  );
  client.socket.close();
}

test('proxy: calls, streams and WebSockets of an account use its proxy', async () => {
  for (const proxy of [connectProxy, socksProxy]) {
    await behindProxy(proxy.urlFor(credentials));
    await assertServed();
    const target = `provider.test:${new URL(sim.url).port}`;
    assert.ok(proxy.targets.length >= 2, 'a connection for HTTP and a WebSocket');
    assert.deepEqual([...new Set(proxy.targets)], [target]);
  }
  assert.deepEqual(environmentProxy.targets, []);
});

test('proxy: a background response is followed through the proxy of its account', async () => {
  await behindProxy(connectProxy.urlFor(credentials));
  const request = { model: 'demo-responses', input: 'hi', background: true, max_output_tokens: 100 };
  const created = await post('/v1/responses', keys.openai, request);
  assert.equal(created.status, 200, await created.clone().text());
  const { id } = (await created.json()) as { id: string };
  const { db } = gateway.context.database;
  const worker = await openWorkerServices(gateway.context);
  try {
    await until('the worker to charge the response', async () => {
      await db
        .updateTable('background_responses')
        .set({ next_check_at: new Date(0) })
        .execute();
      await worker.background.jobs[0]?.run();
      const row = await db
        .selectFrom('background_responses')
        .select('state')
        .where('response_id', '=', id)
        .executeTakeFirstOrThrow();
      return row.state === 'settled';
    });
    assert.deepEqual(environmentProxy.targets, []);
  } finally {
    await worker.close();
  }
});

test('proxy: that of the environment serves accounts without one, and none switches it off', async () => {
  await behindProxy('environment');
  await assertServed();
  assert.ok(environmentProxy.targets.length > 0);
  environmentProxy.targets.length = 0;
  await behindProxy('none');
  const failed = await post('/v1/responses', keys.openai, { model: 'demo-responses', input: 'hi' });
  assert.ok(failed.status >= 500, `${failed.status}`);
  assert.deepEqual(environmentProxy.targets, []);
});

test('proxy: a problem with it is named in the cooldown of the account', async () => {
  const wrong = connectProxy.urlFor('gateway:not-the-secret');
  await behindProxy(wrong);
  // As often as it takes to open the circuit of the account.
  for (let n = 0; n < 5; n++) {
    const failed = await post('/v1/responses', keys.openai, { model: 'demo-responses', input: 'hi' });
    assert.ok(failed.status >= 500, `${failed.status}`);
  }
  const cooldown = await until('the cooldown', async () => {
    const { body } = await admin<{ data: { id: string; cooldowns: Record<string, unknown>[] }[] }>('GET', '/accounts');
    return body.data.find(({ id }) => id === 'oa1')?.cooldowns[0];
  });
  assert.deepEqual([cooldown.reason, cooldown.provider_code], ['unreachable', 'PROXY_AUTH']);
  const log = JSON.stringify(gateway.log);
  assert.match(log, /PROXY_AUTH/);
  for (const secret of ['not-the-secret', Buffer.from('gateway:not-the-secret').toString('base64')])
    assert.ok(!log.includes(secret), secret);
});

test('proxy: its credentials are sealed, and never shown or logged', async () => {
  await behindProxy(connectProxy.urlFor(credentials));
  const { body, text } = await admin<{ data: { proxy: string }[] }>('GET', '/accounts');
  assert.equal(body.data[0]?.proxy, connectProxy.url);
  const rows = await gateway.context.database.db.selectFrom('accounts').selectAll().execute();
  assert.ok(rows.every(({ proxy_sealed }) => proxy_sealed?.startsWith('v1:')));
  for (const shown of [
    text,
    JSON.stringify(gateway.log),
    JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
  ])
    assert.doesNotMatch(shown, new RegExp(PASSWORD));
  // The same file again changes nothing.
  const before = rows.map(({ proxy_sealed }) => proxy_sealed);
  await behindProxy(connectProxy.urlFor(credentials));
  const again = await gateway.context.database.db.selectFrom('accounts').select('proxy_sealed').execute();
  assert.deepEqual(again.map(({ proxy_sealed }) => proxy_sealed).sort(), before.sort());
});

test('proxy: an invalid URL is rejected by its field, without its text', () => {
  for (const proxy of [
    'ftp://u:hunter2@p.test',
    'hunter2',
    'http://',
    'http://u:hunter2@p.test/path',
    'socks5://%zz:hunter2@p.test',
  ])
    assert.throws(
      () =>
        parseSetup(
          JSON.stringify({
            accounts: [{ id: 'a', group: 'g', base_url: 'https://a.test', api_key: 'sk', proxy }],
          }),
        ),
      (error: Error) => {
        assert.match(error.message, /accounts\[0\]\.proxy: found text \(not shown\), expected a URL of a proxy/);
        assert.doesNotMatch(error.message, /hunter2/);
        return true;
      },
      proxy,
    );
});
