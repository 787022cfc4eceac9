// set: load; many slow clients
/** Clients that read nothing or send half of a request: the others do not notice, memory stays bounded, and deadlines cut the slow ones. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sim, startSim } from '../../sim/index.ts';
import { SERVER_BOUNDS } from '../../src/platform/http/bounds.ts';
import { rawPost, requestBody } from '../support/conversion-harness.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { Wire } from '../support/raw.ts';
import { SkewedClock } from '../support/skewed-clock.ts';
import { until } from '../support/wait.ts';

const STALLED_READERS = 20;
const HALF_HEADS = 100;
const HALF_BODIES = 100;
const OTHERS = 100;
const STALLED_MS = 60_000;
/** Of each stalled response: far more than socket buffers hold. */
const RESPONSE_BYTES = 16_000_000;
/** What the buffers of the system on both sides of the gateway may hold of a response that is not read. */
const MAX_SENT = 14_000_000;

const clock = new SkewedClock();
let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string> = {};
const sockets: Socket[] = [];

before(async () => {
  sim = await startSim();
  gateway = await startGateway({
    clock,
    env: { STALLED_CLIENT_MS: String(STALLED_MS), MAX_CONNECTIONS: '2000', MAX_CONNECTIONS_PER_ADDRESS: '2000' },
  });
  keys = await gateway.apply(basicSetup(sim.url));
});
after(async () => {
  for (const socket of sockets) socket.destroy();
  await gateway?.stop();
  await sim?.close();
});

async function open(bytes: string): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

const metric = async (name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await (await fetch(`${gateway.url}/metrics`)).text())?.[1]);

test('slow clients do not disturb the others, hold bounded memory, and are cut by their deadlines', async (t) => {
  const before = process.memoryUsage().arrayBuffers;
  for (let n = 0; n < STALLED_READERS; n += 1) {
    const body = requestBody('chat', { model: `demo-x@big=${RESPONSE_BYTES}`, text: 'hi', stream: true });
    await open(rawPost('chat', keys[n % 4 < 2 ? 'openai' : 'claude'] ?? '', body));
  }
  const halfHeads = Array.from({ length: HALF_HEADS }, () => new Wire(gateway.url));
  for (const wire of halfHeads) wire.send('POST /v1/chat/completions HTTP/1.1\r\nhost: gateway.test\r\nauthor');
  const whole = rawPost('messages', keys.claude ?? '', requestBody('messages', { text: 'x'.repeat(20_000) }));
  const halfBodies = Array.from({ length: HALF_BODIES }, () => new Wire(gateway.url));
  for (const wire of halfBodies) wire.send(whole.slice(0, whole.length >> 1));

  const responses = await Promise.all(
    Array.from({ length: OTHERS }, (_, n) =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${keys[n % 2 === 0 ? 'openai' : 'claude']}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(requestBody('chat', { model: 'demo-x', text: 'hello', stream: n % 3 === 0 })),
      }),
    ),
  );
  for (const response of responses) assert.match(await response.text(), /simulated/);

  const stalled = () => sim.journal.requests.filter(({ model }) => model?.includes('@big='));
  assert.equal(stalled().length, STALLED_READERS);
  await until('every provider waits for its client', async () => {
    const sent = stalled().map(({ bytesSent }) => bytesSent);
    await pause(100);
    return stalled().every(({ bytesSent }, n) => bytesSent === sent[n]);
  });
  t.diagnostic(`${Math.max(...stalled().map(({ bytesSent }) => bytesSent))} bytes sent at most`);
  for (const { bytesSent, finished } of stalled()) assert.ok(!finished && bytesSent < MAX_SENT, String(bytesSent));
  const grown = process.memoryUsage().arrayBuffers - before;
  assert.ok(grown < 200 * 2 ** 20, `${Math.round(grown / 2 ** 20)} MiB of buffers`);
  assert.equal(await metric('dragoman_large_body_bytes'), 0, 'half-sent requests hold little memory');

  clock.pass(SERVER_BOUNDS.headMs.limit + 1_000);
  for (const wire of halfHeads) assert.equal((await wire.response())?.status, 408);
  clock.pass(STALLED_MS);
  await until('the providers of stalled clients are released', () => stalled().every(({ aborted }) => aborted));
  clock.pass(SERVER_BOUNDS.requestMs.limit);
  for (const wire of halfBodies) assert.equal((await wire.response())?.status, 408);
  await until('their connections are closed', async () => (await metric('dragoman_open_requests')) === 1);
});
