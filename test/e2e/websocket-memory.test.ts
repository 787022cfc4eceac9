// set: load; memory of many sockets
/** Memory of responses WebSockets: turns without a provider call, kept history, messages in parts, and clients that do not read. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';
import { frameText, isTerminal, ResponsesSocketClient } from '../support/websocket.ts';

const MIB = 2 ** 20;
const BUDGET = 32 * MIB;

let sim: Sim;
let gateway: TestGateway;
let key: string;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ env: { BODY_MEMORY_BYTES: String(BUDGET), STALLED_CLIENT_MS: '300' } });
  key = (await gateway.apply(basicSetup(sim.url))).claude ?? '';
});
after(async () => {
  await gateway?.stop();
  await sim?.close();
});

async function keptBytes(): Promise<number> {
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  return Number(/^dragoman_large_body_bytes (\d+)/m.exec(metrics)?.[1] ?? assert.fail(metrics));
}

const warmUp = (input: unknown, lane: number) => ({
  model: 'demo-messages',
  generate: false,
  stream_id: `lane-${lane}`,
  input: [input],
});

test('turns with generate: false keep their history within the memory of the key', async () => {
  const client = await new ResponsesSocketClient(gateway.url, key).open();
  const text = { role: 'user', content: 'x'.repeat(2 * MIB) };
  const ends = [];
  for (let lane = 0; lane < 20; lane += 1) ends.push(await client.turn(warmUp(text, lane)));
  const kept = ends.filter(({ type }) => type === 'response.completed');
  const rejected = ends.filter(({ type }) => type === 'error');
  assert.ok(kept.length >= 4 && rejected.length >= 8, `${kept.length} kept, ${rejected.length} rejected`);
  for (const { status, error } of rejected) assert.deepEqual([status, error?.code], [429, 'rate_limit_exceeded']);
  assert.ok((await keptBytes()) <= BUDGET / 2 + MIB);
  const small = await client.turn({ model: 'demo-messages', input: 'hi' });
  assert.equal(small.type, 'response.completed', 'the connection stays usable');
  client.socket.close();
  await until('the memory', async () => (await keptBytes()) === 0);
});

test('a message with more values or levels than a request may have is refused by name, and the connection stays usable', async () => {
  const client = await new ResponsesSocketClient(gateway.url, key).open();
  const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`);
  for (const [input, reason] of [
    [Array(900_000).fill(0), /more than 100000 values/],
    [deep, /nested deeper than 128 levels/],
  ] as const) {
    const end = await client.turn(warmUp(input, 0));
    assert.deepEqual([end.status, end.error?.code], [400, 'invalid_request']);
    assert.match(String(end.error?.message), reason);
  }
  assert.equal((await client.turn(warmUp('hi', 0))).type, 'response.completed');
  client.socket.close();
});

test('a kept history can be continued', async () => {
  const client = await new ResponsesSocketClient(gateway.url, key).open();
  const first = await client.turn(warmUp({ role: 'user', content: `plum ${'x'.repeat(MIB / 2)}` }, 0));
  sim.journal.clear();
  const next = await client.turn({ model: 'demo-messages', input: 'go on', previous_response_id: first.response?.id });
  assert.match(frameText(next), /simulated/);
  assert.ok(sim.journal.requests.at(-1)?.body?.includes('plum xxx'));
  client.socket.close();
});

test('turns with generate: false count against the limits of the key', async () => {
  const limited = await gateway.apply({
    users: [{ id: 'rare', balance: '10' }],
    keys: [{ user: 'rare', group: 'claude', rpm: 2 }],
  });
  const client = await new ResponsesSocketClient(gateway.url, limited.claude ?? '').open();
  const codes = [];
  for (let n = 0; n < 4; n += 1) codes.push((await client.turn(warmUp('hi', 0))).error?.code);
  assert.deepEqual(codes, [undefined, undefined, 'rate_limit_exceeded', 'rate_limit_exceeded']);
  client.socket.close();
});

test('large messages whose end does not come close their connections', async () => {
  const clients = await Promise.all(
    Array.from({ length: 6 }, () => new ResponsesSocketClient(gateway.url, key).open()),
  );
  const codes: number[] = [];
  for (const { socket } of clients) {
    socket.on('close', (code) => codes.push(code));
    socket.send(Buffer.alloc(8 * MIB, ' '), { binary: false, fin: false });
  }
  await until('a closed connection', () => codes.length > 0);
  assert.equal(codes[0], 1013);
  assert.ok((await keptBytes()) <= BUDGET);
  for (const { socket } of clients) socket.terminate();
  await until('the memory', async () => (await keptBytes()) === 0);
});

test('a client that sends pings and reads nothing is cut', async () => {
  const client = await new ResponsesSocketClient(gateway.url, key).open();
  const raw = (client.socket as unknown as { _socket: Socket })._socket;
  raw.pause();
  const payload = Buffer.alloc(125, 'p');
  let isClosed = false;
  raw.on('close', () => {
    isClosed = true;
  });
  client.socket.on('error', () => {});
  await until('the cut', () => {
    for (let n = 0; n < 2_000 && !isClosed && raw.writableLength < 4 * MIB; n += 1) client.socket.ping(payload);
    return isClosed;
  });
});

test('a client that reads slowly still gets all its events', async () => {
  const client = await new ResponsesSocketClient(gateway.url, key).open();
  const end = client.turn({ model: 'demo-messages@events=2000;gap=0', input: 'hi' });
  const raw = (client.socket as unknown as { _socket: Socket })._socket;
  raw.pause();
  setImmediate(() => raw.resume());
  assert.ok(isTerminal(await end));
  client.socket.close();
});
