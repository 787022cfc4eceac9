// set: load; throughput of native calls
/** Native calls under load: memory with large bodies and streams, back-pressure, concurrency and drain. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sim, startSim } from '../../sim/index.ts';
import { Command } from '../support/command.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { request, Wire } from '../support/raw.ts';
import { until } from '../support/wait.ts';

const MB = 1_000_000;
const MASTER_KEY = `k1:${'load-master-key-'.repeat(3)}`;
/** Generous: the test checks only that memory does not grow with the size of a body or stream. */
const GROWTH = 150 * MB;
const BODIES = 6;
/** Up to three copies of each body wait for the next collection. All bodies, kept once, would be 120 MB more. */
const BODY_GROWTH = 250 * MB;

let sim: Sim;
/** Applies the configuration, and disconnects stalled clients early. */
let gateway: TestGateway;
/** The gateway in a separate process, so that its memory can be measured. */
let command: Command;
let url: string;
let key: string;
const dataDir = mkdtempSync(join(tmpdir(), 'dragoman-load-'));

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ env: { MASTER_KEY, STALLED_CLIENT_MS: '300', HEARTBEAT_MS: '1000' } });
  const keys = await gateway.apply({
    groups: [{ id: 'claude', style: 'messages' }],
    accounts: [{ id: 'a', group: 'claude', base_url: sim.url, api_key: 'key-of-the-account', max_concurrency: 1000 }],
    models: [
      { id: 'alias', groups: ['claude'], upstream: 'demo-messages' },
      { id: 'demo-*', groups: ['claude'] },
    ],
    users: [{ id: 'ana' }],
    keys: [{ user: 'ana', group: 'claude' }],
  });
  key = keys.claude ?? assert.fail('no key');
  command = new Command(['serve'], {
    env: {
      DATABASE_URL: gateway.database.url,
      MASTER_KEY,
      DATA_DIR: dataDir,
      LOG_LEVEL: 'error',
      STALLED_CLIENT_MS: '3600000',
    },
  });
  url = await command.ready();
});
after(async () => {
  await command?.stop();
  await gateway?.stop();
  await sim?.close();
  rmSync(dataDir, { recursive: true, force: true });
});
beforeEach(() => sim.journal.clear());

const bodyOf = (model: string, content = 'hello'): string =>
  JSON.stringify({ max_tokens: 1000, stream: true, messages: [{ role: 'user', content }], model });

const send = (at: string, body: string): Promise<Response> =>
  fetch(`${at}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body,
  });

/** Reads and discards a stream; returns its size and its last bytes. */
async function discard(response: Response): Promise<{ bytes: number; tail: string }> {
  let bytes = 0;
  let tail = '';
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    tail = (tail + Buffer.from(chunk.subarray(-100)).toString('latin1')).slice(-100);
  }
  return { bytes, tail };
}

async function memory(): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1] ?? assert.fail(text));
}

/** The highest growth of the gateway process while `work` runs. */
async function growthDuring(t: TestContext, work: () => Promise<unknown>): Promise<number> {
  const idle = await memory();
  let peak = idle;
  const done = new AbortController();
  const watch = (async () => {
    while (!done.signal.aborted) {
      peak = Math.max(peak, await memory());
      await pause(20);
    }
  })();
  const startedAt = performance.now();
  await work();
  const ms = performance.now() - startedAt;
  done.abort();
  await watch;
  peak = Math.max(peak, await memory());
  t.diagnostic(`${Math.round(ms)} ms, ${Math.round(idle / MB)} MB before, ${Math.round(peak / MB)} MB peak`);
  return peak - idle;
}

const ENDS = /event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/;

describe('memory', () => {
  before(async () => {
    for (let n = 0; n < 20; n++) await discard(await send(url, bodyOf('demo-messages')));
  });

  test('memory does not grow when bodies of 20 MB are forwarded repeatedly', async (t) => {
    const body = bodyOf('alias', 'x'.repeat(20 * MB));
    const arrived = createHash('sha256').update(body.replace('"alias"', '"demo-messages"')).digest('hex');
    const growth = await growthDuring(t, async () => {
      for (let n = 0; n < BODIES; n++) await discard(await send(url, body));
    });
    assert.deepEqual(
      sim.journal.requests.map(({ bodySha256 }) => bodySha256),
      Array.from({ length: BODIES }, () => arrived),
    );
    assert.ok(growth < BODY_GROWTH, `${growth} bytes`);
  });

  test('memory does not grow with a stream of 200,000 events', async (t) => {
    const growth = await growthDuring(t, async () => {
      const { bytes, tail } = await discard(await send(url, bodyOf('demo-x@events=200000')));
      assert.equal(bytes, sim.journal.requests[0]?.bytesSent);
      assert.match(tail, ENDS);
    });
    assert.ok((sim.journal.requests[0]?.eventsSent ?? 0) >= 200_000);
    assert.ok(growth < GROWTH, `${growth} bytes`);
  });

  test('back-pressure: a client that stops reading pauses the provider, and the stream continues when it reads', async (t) => {
    const growth = await growthDuring(t, async () => {
      const wire = stall(url, LONG_STREAM);
      const entry = await sim.journal.waitFor((seen) => seen.eventsSent > 0);
      let last = -1;
      let same = 0;
      await until('back-pressure at the provider', async () => {
        same = entry.bytesSent === last ? same + 1 : 0;
        last = entry.bytesSent;
        return same >= 15;
      });
      t.diagnostic(`the provider sent ${Math.round(entry.bytesSent / MB)} MB of some 120 MB`);
      assert.ok(entry.bytesSent < 100 * MB, 'no more than the socket buffers');
      wire.socket.resume();
      await until('the provider to continue', () => entry.bytesSent > last);
      wire.end();
      await sim.journal.waitFor((seen) => seen.aborted);
    });
    assert.ok(growth < GROWTH, `${growth} bytes`);
  });
});

/** Some 120 MB, more than the socket buffers on the way hold. */
const LONG_STREAM = 'demo-x@events=3000;big=40000';

/** Requests a stream and reads nothing of it. */
function stall(at: string, model: string): Wire {
  const body = bodyOf(model);
  const wire = new Wire(at);
  wire.socket.pause();
  wire.send(
    request(
      'POST /v1/messages HTTP/1.1',
      [
        ['x-api-key', key],
        ['content-length', String(body.length)],
      ],
      body,
    ),
  );
  return wire;
}

test('back-pressure: a stalled client is disconnected, and its upstream call aborted', async (t) => {
  const wire = stall(gateway.url, LONG_STREAM);
  const entry = await sim.journal.waitFor((seen) => seen.aborted);
  t.diagnostic(`after ${(entry.abortedAt ?? 0) - entry.receivedAt} ms and ${Math.round(entry.bytesSent / MB)} MB`);
  assert.ok((entry.abortedAt ?? 0) - entry.receivedAt >= 300);
  wire.socket.resume();
  await wire.closed();
  const line = await until('the log line', () =>
    gateway.log.findLast((seen) => seen.msg === 'request.completed' && seen.outcome === 'client_closed'),
  );
  assert.equal(line.status, 200);
});

test('200 concurrent streams all complete', async (t) => {
  const begun = performance.now();
  const results = await Promise.all(
    Array.from({ length: 200 }, async () => discard(await send(url, bodyOf('demo-x@events=40;gap=1')))),
  );
  t.diagnostic(`${Math.round(performance.now() - begun)} ms`);
  for (const { tail } of results) assert.match(tail, ENDS);
  await until(
    'all provider requests to end',
    () => sim.journal.requests.filter(({ finished }) => finished).length === 200,
  );
});

describe('drain', () => {
  const replica = (drainMs: number) =>
    startGateway({ database: gateway.database, env: { MASTER_KEY, DRAIN_MS: String(drainMs) } });

  /** A stop that waits for it hangs. */
  const DRAIN_MS = 3_600_000;

  test('drain completes an open stream and does not wait for idle keep-alive connections', async () => {
    const stopping = await replica(DRAIN_MS);
    const response = await send(stopping.url, bodyOf('demo-x@events=30;gap=20'));
    let isStopped = false;
    const stopped = stopping.stop().then(() => {
      isStopped = true;
    });
    const { tail } = await discard(response);
    assert.match(tail, ENDS);
    await until('the provider request to end', () => sim.journal.requests[0]?.finished);
    await until('the server to stop', () => isStopped);
    await stopped;
    await assert.rejects(send(stopping.url, bodyOf('demo-messages')), 'the port is closed');
  });

  test('drain ends a stream that does not end in time with an error event, and aborts its upstream call', async () => {
    const stopping = await replica(200);
    const response = await send(stopping.url, bodyOf('demo-x@silent_mid'));
    const reading = discard(response);
    reading.catch(() => {});
    await stopping.stop();
    assert.match((await reading).tail, /send the request again/);
    await sim.journal.waitFor((seen) => seen.aborted);
  });
});
