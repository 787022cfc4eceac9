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
/** Generous: what is checked is that memory does not grow with the size of what passes. */
const GROWTH = 150 * MB;
const BODIES = 6;
/** Bodies wait for the next collection in up to three copies; all of them, kept once, would be 120 MB more. */
const BODY_GROWTH = 250 * MB;

let sim: Sim;
/** Sets up, and cuts stalled clients early. */
let gateway: TestGateway;
/** The gateway in a process of its own, whose memory is its alone. */
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
    env: { DATABASE_URL: gateway.database.url, MASTER_KEY, DATA_DIR: dataDir, LOG_LEVEL: 'error' },
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

const ask = (at: string, body: string): Promise<Response> =>
  fetch(`${at}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body,
  });

/** Reads a stream and throws it away; answers its size and its last bytes. */
async function drink(response: Response): Promise<{ bytes: number; tail: string }> {
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
  return Number(/^dragoman_memory_bytes (\S+)/m.exec(text)?.[1] ?? assert.fail(text));
}

/** How much larger the gateway's process gets while this runs, at its highest. */
async function growthDuring(t: TestContext, work: () => Promise<unknown>): Promise<number> {
  const begun = await memory();
  let peak = begun;
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
  t.diagnostic(`${Math.round(ms)} ms, ${Math.round(begun / MB)} MB before, ${Math.round(peak / MB)} MB at its highest`);
  return peak - begun;
}

const ENDS = /event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/;

describe('memory', () => {
  before(async () => {
    for (let n = 0; n < 20; n++) await drink(await ask(url, bodyOf('demo-messages')));
  });

  test('a body of 20 MB passes, again and again, and is not kept', async (t) => {
    const body = bodyOf('alias', 'x'.repeat(20 * MB));
    const arrived = createHash('sha256').update(body.replace('"alias"', '"demo-messages"')).digest('hex');
    const growth = await growthDuring(t, async () => {
      for (let n = 0; n < BODIES; n++) await drink(await ask(url, body));
    });
    assert.deepEqual(
      sim.journal.requests.map(({ bodySha256 }) => bodySha256),
      Array.from({ length: BODIES }, () => arrived),
    );
    assert.ok(growth < BODY_GROWTH, `${growth} bytes`);
  });

  test('a stream of 200,000 events passes without piling up', async (t) => {
    const growth = await growthDuring(t, async () => {
      const { bytes, tail } = await drink(await ask(url, bodyOf('demo-x@events=200000')));
      assert.equal(bytes, sim.journal.requests[0]?.bytesSent);
      assert.match(tail, ENDS);
    });
    assert.ok((sim.journal.requests[0]?.eventsSent ?? 0) >= 200_000);
    assert.ok(growth < GROWTH, `${growth} bytes`);
  });

  test('a client that stops reading stops the provider, and the rest comes when it goes on', async (t) => {
    const growth = await growthDuring(t, async () => {
      const wire = stall(url, 'demo-x@events=2000000');
      const entry = await sim.journal.waitFor((seen) => seen.eventsSent > 0);
      let last = -1;
      let same = 0;
      await until(
        'the provider to stop',
        async () => {
          same = entry.bytesSent === last ? same + 1 : 0;
          last = entry.bytesSent;
          return same >= 15;
        },
        20_000,
      );
      t.diagnostic(`the provider sent ${Math.round(entry.bytesSent / MB)} MB of some 230 MB`);
      assert.ok(entry.bytesSent < 100 * MB, 'what sockets hold, and no more');
      wire.socket.resume();
      await until('it to go on', () => entry.bytesSent > last);
      wire.end();
      await sim.journal.waitFor((seen) => seen.aborted);
    });
    assert.ok(growth < GROWTH, `${growth} bytes`);
  });
});

/** Asks for a stream and reads nothing of it. */
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

test('a client that takes nothing for too long is cut, and its call upstream ends', async (t) => {
  const wire = stall(gateway.url, 'demo-x@events=2000000');
  const entry = await sim.journal.waitFor((seen) => seen.aborted, 10_000);
  t.diagnostic(`after ${(entry.abortedAt ?? 0) - entry.receivedAt} ms and ${Math.round(entry.bytesSent / MB)} MB`);
  assert.ok((entry.abortedAt ?? 0) - entry.receivedAt >= 300);
  wire.socket.resume();
  await wire.closed();
  const line = await until('the call to be noted', () =>
    gateway.log.findLast((seen) => seen.msg === 'request.completed' && seen.outcome === 'client_closed'),
  );
  assert.equal(line.status, 200);
});

test('200 streams at once all come to their end', async (t) => {
  const begun = performance.now();
  const results = await Promise.all(
    Array.from({ length: 200 }, async () => drink(await ask(url, bodyOf('demo-x@events=40;gap=1')))),
  );
  t.diagnostic(`${Math.round(performance.now() - begun)} ms`);
  for (const { tail } of results) assert.match(tail, ENDS);
  assert.equal(sim.journal.requests.filter(({ finished }) => finished).length, 200);
});

describe('a gateway that stops', () => {
  const replica = (drainMs: number) =>
    startGateway({ database: gateway.database, env: { MASTER_KEY, DRAIN_MS: String(drainMs) } });

  const DRAIN_MS = 2_500;
  let waitedMs = Number.POSITIVE_INFINITY;

  test('lets an open stream come to its end', async (t) => {
    const stopping = await replica(DRAIN_MS);
    const answer = await ask(stopping.url, bodyOf('demo-x@events=30;gap=20'));
    const stopped = stopping.stop().then(() => performance.now());
    const { tail } = await drink(answer);
    const endedAt = performance.now();
    assert.match(tail, ENDS);
    assert.ok(sim.journal.requests[0]?.finished);
    waitedMs = (await stopped) - endedAt;
    t.diagnostic(`stopped ${Math.round(waitedMs)} ms after the last stream`);
    await assert.rejects(ask(stopping.url, bodyOf('demo-messages')), 'nobody listens any more');
  });

  test('does not wait for connections that clients keep after their last answer', () => {
    assert.ok(waitedMs < 1_000, `${waitedMs} ms`);
  });

  test('cuts a stream that does not end in time, and its call upstream', async () => {
    const stopping = await replica(200);
    const answer = await ask(stopping.url, bodyOf('demo-x@silent_mid'));
    const begun = performance.now();
    const reading = drink(answer);
    reading.catch(() => {});
    await stopping.stop();
    await assert.rejects(reading);
    await sim.journal.waitFor((seen) => seen.aborted);
    assert.ok(performance.now() - begun < 3_000);
  });
});
