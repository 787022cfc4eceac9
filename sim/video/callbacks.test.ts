import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, test } from 'node:test';
import { type Sim, startSim } from '../index.ts';
import { TestClient } from './fixtures.ts';

let sim: Sim;
let client: TestClient;
let receiver: Server;
let received: { id: string; status: string }[];
/** The status of the receiver; 0: it never responds. */
let status: number;

beforeEach(async () => {
  received = [];
  status = 204;
  receiver = createServer(async (request, response) => {
    received.push((await json(request)) as { id: string; status: string });
    if (status !== 0) response.writeHead(status, { location: '/elsewhere' }).end();
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  sim = await startSim({ video: { clock: 'manual', rateLimits: false } });
  client = new TestClient(sim.video.url);
});

afterEach(async () => {
  await sim.close();
  receiver.closeAllConnections();
  receiver.close();
});

async function order(trigger = ''): Promise<string> {
  const { port } = receiver.address() as AddressInfo;
  const id = await client.order(`A cat ${trigger}`, { callback_url: `http://127.0.0.1:${port}/cb/1` });
  await sim.video.clock.advance(0);
  return id;
}

const finish = async () => {
  await sim.video.clock.advance(3000);
  await sim.video.clock.advance(9000);
};
const statuses = () => received.map((body) => body.status);

test('every change of the status is announced with the body of a get response', async () => {
  const id = await order();
  assert.deepEqual(statuses(), ['queued']);
  await finish();
  assert.deepEqual(statuses(), ['queued', 'running', 'succeeded']);
  assert.deepEqual(received[2], (await client.get(id)).body);
});

test('failure and expiry are announced, cancellation is not', async () => {
  await order('[sim:fail=InternalServiceError]');
  await order('[sim:stuck=queued]');
  await client.remove(await order());
  await finish();
  await sim.video.clock.advance(172_800_000);
  assert.deepEqual(
    statuses()
      .filter((one) => one !== 'queued')
      .sort(),
    ['expired', 'failed', 'running'],
  );
});

test('a terminal status is retried three times, other ones are not', async () => {
  status = 500;
  await order();
  await finish();
  for (let retry = 0; retry < 5; retry++) await sim.video.clock.advance(1000);
  assert.deepEqual(statuses(), ['queued', 'running', ...Array.from({ length: 4 }, () => 'succeeded')]);
});

test('a redirect and a timeout count as failures', async () => {
  status = 302;
  await order();
  status = 0;
  sim.video.settings.callbackTimeoutMs = 100;
  await finish();
  sim.video.settings.callbackTimeoutMs = 5_000;
  status = 200;
  await sim.video.clock.advance(1000);
  assert.deepEqual(
    sim.video.callbacks.map(({ status: one, attempt, result }) => [one, attempt, result]),
    [
      ['queued', 1, 302],
      ['running', 1, 'timeout'],
      ['succeeded', 1, 'timeout'],
      ['succeeded', 2, 200],
    ],
  );
});

test('mode duplicated sends everything twice', async () => {
  await order('[sim:callbacks=duplicated]');
  await finish();
  assert.deepEqual(statuses(), ['queued', 'queued', 'running', 'running', 'succeeded', 'succeeded']);
});

test('mode shuffled sends the terminal status first', async () => {
  await order('[sim:callbacks=shuffled]');
  assert.deepEqual(statuses(), []);
  await finish();
  assert.deepEqual(statuses(), ['succeeded', 'running', 'queued']);
});

test('mode delayed sends later, mode dropped never', async () => {
  sim.video.settings.callbacks = ['delayed'];
  await order();
  assert.deepEqual(statuses(), []);
  await sim.video.clock.advance(5000);
  assert.deepEqual(statuses(), ['queued']);
  sim.video.settings.callbacks = ['dropped'];
  await sim.video.clock.advance(20_000);
  assert.deepEqual(statuses(), ['queued', 'running']);
});

test('mode wrong_id names a task that does not exist', async () => {
  const id = await order('[sim:callbacks=wrong_id]');
  const forged = received[0]?.id ?? '';
  assert.match(forged, /^cgt-\d{14}-\w{5}$/);
  assert.notEqual(forged, id);
  assert.equal((await client.get(forged)).status, 404);
});

test('the first callback reveals the id of a task whose create response was lost', async () => {
  const { port } = receiver.address() as AddressInfo;
  const body = { callback_url: `http://127.0.0.1:${port}/cb/2`, content: [{ type: 'text', text: 'A cat' }] };
  await client.create({ model: 'up-video@fault=500;created', ...body });
  await sim.video.clock.advance(0);
  assert.equal(received[0]?.id, sim.video.journal.creates[0]?.taskId);
});
