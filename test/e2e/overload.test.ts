// set: load; more calls than a server can serve
/** A gateway under overload: what it refuses first, how, and what it never refuses. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import {
  type ErrorFormat,
  SHED_RETRY_SECONDS,
  SHED_SAMPLE_MS,
  SHEDDING,
  type SheddablePriority,
} from '../../src/rules/index.ts';
import { errorCode } from '../support/error-body.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { request, Wire } from '../support/raw.ts';
import { SkewedClock } from '../support/skewed-clock.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

const MIB = 2 ** 20;
/** Chat requests count twice where they are forwarded, and four times where they are converted. */
const BODY_MEMORY = 4 * 8 * MIB;

const clock = new SkewedClock();
let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string> = {};

before(async () => {
  clock.delay(SHED_SAMPLE_MS, 0);
  sim = await startSim();
  gateway = await startGateway({
    clock,
    env: { SHEDDING: 'on', BODY_MEMORY_BYTES: String(BODY_MEMORY), ADMIN_TOKEN: 'admin-token-of-this-test' },
  });
  keys = await gateway.apply(basicSetup(sim.url));
});
after(async () => {
  clock.delay(SHED_SAMPLE_MS, 0);
  await gateway?.stop();
  await sim?.close();
});
afterEach(async () => {
  clock.delay(SHED_SAMPLE_MS, 0);
  await until('the end of the overload', async () =>
    (await repeated(models)).every((response) => response.status === 200),
  );
});

/** Makes the event loop seem as late as the priority needs to be refused. */
function overload(priority: SheddablePriority): void {
  clock.delay(SHED_SAMPLE_MS, SHEDDING[priority].delayMs);
}

type Send = () => Promise<Response>;

const post =
  (path: string, group: string, body: object): Send =>
  () =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
const get =
  (path: string, token = keys.openai): Send =>
  () =>
    fetch(gateway.url + path, { headers: { authorization: `Bearer ${token}` } });

const models: Send = () => get('/v1/models')();
const image: Send = () => post('/v1/images/generations', 'openai', { model: 'demo-image', prompt: 'a kite' })();
const TEXT: Readonly<Record<string, { readonly send: Send; readonly format: ErrorFormat; readonly status: number }>> = {
  chat: {
    send: () =>
      post('/v1/chat/completions', 'openai', { model: 'demo-x', messages: [{ role: 'user', content: 'hi' }] })(),
    format: 'openai',
    status: 503,
  },
  messages: {
    send: () =>
      post('/v1/messages', 'claude', { model: 'demo-x', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] })(),
    format: 'messages',
    status: 529,
  },
  generate: {
    send: () =>
      post('/v1beta/models/demo-x:generateContent', 'gemini', {
        contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      })(),
    format: 'generate',
    status: 503,
  },
};
const createVideo: Send = () => post('/api/v3/contents/generations/tasks', 'openai', { model: 'x', content: [] })();

const isOverload = async (response: Response): Promise<boolean> =>
  (response.status === 503 || response.status === 529) && (await response.clone().text()).includes('overloaded');

/** A refusal concerns a part of the requests, so a few are sent. */
const repeated = (send: Send): Promise<Response[]> => Promise.all(Array.from({ length: 8 }, send));
async function refusal(send: Send): Promise<Response> {
  return until('a refusal', async () => {
    for (const response of await repeated(send)) if (await isOverload(response)) return response;
    return undefined;
  });
}
async function assertNotRefused(send: Send): Promise<void> {
  for (const response of await repeated(send)) assert.equal(await isOverload(response), false, String(response.status));
}

describe('priorities', () => {
  test('lists are refused first, while other requests are served', async () => {
    overload('list');
    await refusal(models);
    for (const { send } of Object.values(TEXT)) await assertNotRefused(send);
    await assertNotRefused(image);
  });

  test('image requests are refused next', async () => {
    overload('image');
    await refusal(image);
    for (const { send } of Object.values(TEXT)) await assertNotRefused(send);
  });

  for (const [dialect, { send, format, status }] of Object.entries(TEXT))
    test(`text requests are refused in their dialect, with a time to retry (${dialect})`, async () => {
      overload('text');
      const response = await refusal(send);
      assert.equal(response.status, status);
      const id = response.headers.get('x-request-id');
      assert.match(id ?? '', /^req_/);
      assert.notEqual((await refusal(send)).headers.get('x-request-id'), id);
      const seconds = Number(response.headers.get('retry-after'));
      assert.ok(seconds >= SHED_RETRY_SECONDS.min && seconds <= SHED_RETRY_SECONDS.max, String(seconds));
      const text = await response.text();
      assert.equal(Number(response.headers.get('content-length')), Buffer.byteLength(text));
      assert.equal(errorCode(format, status, JSON.parse(text)), 'server_is_overloaded');
      if (format === 'messages') assert.equal(JSON.parse(text).request_id, id);
      await assertNotRefused(createVideo);
      // The operator must see what happens.
      await assertNotRefused(get('/admin/v1/balances', 'admin-token-of-this-test'));
    });

  test('WebSockets are refused, and turns on open ones get an error frame', async () => {
    const client = await new ResponsesSocketClient(gateway.url, keys.claude ?? '').open();
    assert.equal((await client.turn({ model: 'demo-x', input: 'hi' })).type, 'response.completed');
    overload('text');
    const frame = await until('a refused turn', async () => {
      const last = await client.turn({ model: 'demo-x', input: 'hi' });
      return last.type === 'error' ? last : undefined;
    });
    assert.deepEqual([frame.status, frame.error?.code], [503, 'server_is_overloaded']);
    client.socket.close();
    await until('a refused upgrade', async () => {
      const refused = new ResponsesSocketClient(gateway.url, keys.claude ?? '');
      const { promise, resolve } = Promise.withResolvers<boolean>();
      refused.socket.on('unexpected-response', (_request, response) => resolve(response.statusCode === 503));
      refused.socket.on('open', () => resolve(false));
      refused.socket.on('error', () => {});
      return promise.finally(() => refused.socket.terminate());
    });
  });

  test('video creation is refused last; polls, cancellations, reports of providers, health and metrics never', async () => {
    overload('create');
    const response = await refusal(createVideo);
    assert.equal(errorCode('video', 503, await response.json()), 'server_is_overloaded');
    await assertNotRefused(get('/api/v3/contents/generations/tasks/cgt-1'));
    await assertNotRefused(get('/v1/responses/resp_1'));
    for (const path of ['/api/v3/contents/generations/tasks/task_1', '/v1/videos/task_1'])
      await assertNotRefused(() =>
        fetch(gateway.url + path, { method: 'DELETE', headers: { authorization: `Bearer ${keys.openai}` } }),
      );
    await assertNotRefused(post('/v1/responses/resp_1/cancel', 'openai', {}));
    await assertNotRefused(() => fetch(`${gateway.url}/upstream/callbacks/nothing`, { method: 'POST', body: '{}' }));
    for (const path of ['/healthz', '/readyz', '/metrics']) await assertNotRefused(() => fetch(gateway.url + path));
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    assert.match(metrics, /dragoman_requests_shed_total\{priority="create"\} [1-9]/);
    await until('the log line', () => gateway.log.find(({ msg }) => msg === 'requests.shed'));
  });
});

const head = (path: string, key: string, bytes: number): string =>
  request(`POST ${path} HTTP/1.1`, [
    ['authorization', `Bearer ${key}`],
    ['content-type', 'application/json'],
    ['content-length', String(bytes)],
  ]);

test('a key with few calls is served while one with many is refused', async () => {
  const [few, many] = [TEXT.messages ?? assert.fail(), TEXT.chat ?? assert.fail()];
  assert.equal((await few.send()).status, 200);
  const held = Array.from({ length: 40 }, () => new Wire(gateway.url));
  for (const wire of held) wire.send(head('/v1/chat/completions', keys.openai ?? '', 200));
  const open = async (): Promise<number> =>
    Number(/^dragoman_open_requests (\d+)/m.exec(await (await fetch(`${gateway.url}/metrics`)).text())?.[1]);
  await until('the calls of the other key', async () => (await open()) > held.length);
  overload('text');
  await refusal(many.send);
  await assertNotRefused(few.send);
  for (const wire of held) wire.end();
});

test('a request is refused before its body arrives and without reading its key', async () => {
  overload('text');
  sim.journal.clear();
  await until('a refusal', async () => {
    const wire = new Wire(gateway.url);
    wire.send(head('/v1/chat/completions', 'not-a-key', 200_000));
    const response = await wire.response();
    wire.end();
    return response?.status === 503;
  });
  assert.equal(sim.journal.requests.length, 0);
});

test('a known client reads the refusal of a large body, although it sends the whole body first', async () => {
  assert.equal((await (TEXT.chat ?? assert.fail()).send()).status, 200);
  overload('text');
  const bytes = 8 * MIB;
  for (let refused = 0; refused < 3; ) {
    const wire = new Wire(gateway.url);
    wire.socket.pause();
    wire.send(head('/v1/chat/completions', keys.openai ?? '', bytes));
    const { promise: sent, resolve } = Promise.withResolvers<void>();
    wire.socket.write(Buffer.alloc(bytes, ' '), () => resolve());
    await sent;
    wire.socket.resume();
    const response = await wire.response();
    assert.ok(response, 'the connection was reset');
    refused += response.status === 503 ? 1 : 0;
    wire.end();
  }
});

test('large bodies are refused before they arrive while the memory of bodies is nearly full; small requests pass', async () => {
  const reserved = async (): Promise<number> =>
    Number(/^dragoman_large_body_bytes (\d+)/m.exec(await (await fetch(`${gateway.url}/metrics`)).text())?.[1]);
  const held: Wire[] = [];
  // One key may hold three times what is free.
  for (const [group, bytes, total] of [
    ['openai', 8 * MIB, 16 * MIB],
    ['claude', MIB, 20 * MIB],
    ['gemini', MIB, 24 * MIB],
  ] as const) {
    const wire = new Wire(gateway.url);
    held.push(wire);
    wire.send(head('/v1/chat/completions', keys[group] ?? '', bytes + 1));
    wire.send(Buffer.alloc(bytes, ' '));
    await until('the body in memory', async () => (await reserved()) === total);
  }
  for (const [path, status] of [
    ['/v1/images/generations', 503],
    ['/v1/chat/completions', 503],
  ] as const) {
    const wire = new Wire(gateway.url);
    wire.send(head(path, keys.openai ?? '', 6 * MIB));
    assert.equal((await wire.response())?.status, status, path);
    wire.end();
  }
  for (const { send } of Object.values(TEXT)) await assertNotRefused(send);
  for (const wire of held) wire.end();
  await until('its memory is free', async () => (await reserved()) === 0);
});
