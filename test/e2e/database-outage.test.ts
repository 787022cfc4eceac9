/** A database that goes silent behind a broken network: the gateway serves from leases and caches, then rejects, then recovers. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { systemClock } from '../../src/core/index.ts';
import { openDatabase } from '../../src/db/index.ts';
import type { ErrorFormat } from '../../src/rules/index.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { errorCode } from '../support/error-body.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest } from '../support/long-test.ts';
import { TcpRelay } from '../support/tcp-relay.ts';
import { until } from '../support/wait.ts';

const PRICES = { input: '2', output: '10' };
const LIMITS = { connectMs: 500, statementMs: 1_000, callMs: 500, idleMs: 100, probeMs: 300 };

let sim: Sim;
let own: TestDatabase;
let relay: TcpRelay;
let gateway: TestGateway;
let keys: Record<string, string>;
/** Milliseconds that the clock of the gateway is ahead. */
let ahead = 0;
const clock = { ...systemClock, now: () => Date.now() + ahead, elapsed: () => performance.now() + ahead };

before(async () => {
  sim = await startSim();
  own = await testDatabase();
  relay = await TcpRelay.start(own.url);
  gateway = await startGateway({ env: { DATABASE_URL: relay.url }, database: own, limits: LIMITS, clock });
  keys = await gateway.apply({
    ...basicSetup(sim.url),
    models: [
      { id: 'demo-responses', groups: ['openai'], prices: PRICES },
      { id: 'demo-messages', groups: ['claude'], prices: PRICES },
      { id: 'demo-generate', groups: ['gemini'], prices: PRICES },
    ],
    users: [{ id: 'ana', balance: '1000' }],
  });
});
after(async () => {
  relay.resume();
  await gateway.stop();
  await relay.close();
  await sim.close();
  await own.drop();
});

interface CallCase {
  readonly group: string;
  readonly format: ErrorFormat;
  readonly path: string;
  readonly body: object;
  /** The status of `server_is_overloaded` in this dialect. */
  readonly status: number;
}

const CALLS: readonly CallCase[] = [
  {
    group: 'claude',
    format: 'messages',
    path: '/v1/messages',
    body: { model: 'demo-messages', max_tokens: 10, messages: [{ role: 'user', content: 'hello' }] },
    status: 529,
  },
  {
    group: 'openai',
    format: 'openai',
    path: '/v1/responses',
    body: { model: 'demo-responses', max_output_tokens: 20, input: 'hello', store: false },
    status: 503,
  },
  {
    group: 'gemini',
    format: 'generate',
    path: '/v1beta/models/demo-generate:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }], generationConfig: { maxOutputTokens: 10 } },
    status: 503,
  },
];

let served = 0;

async function send({ group, path, body }: CallCase): Promise<{ response: Response; body: unknown; ms: number }> {
  const begun = performance.now();
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const result = { response, body: await response.json(), ms: performance.now() - begun };
  if (response.status === 200) served += 1;
  return result;
}

async function assertServed(maxMs: number): Promise<void> {
  for (const call of CALLS) {
    const { response, body, ms } = await send(call);
    assert.equal(response.status, 200, JSON.stringify(body));
    assert.ok(ms < maxMs, `${call.path} took ${Math.round(ms)} ms`);
  }
}

/** Calls that the gateway has recorded, read past the relay. */
async function recordedCalls(): Promise<number> {
  const direct = openDatabase(own.url, 1);
  const { rows } = await sql<{ count: bigint }>`select count(*) from usage_records`.execute(direct.db);
  await direct.close();
  return Number(rows[0]?.count);
}

test('calls continue while pooled connections are silent and new ones work', async () => {
  await assertServed(5_000);
  await Promise.all(Array.from({ length: 12 }, () => sql`select pg_sleep(0.1)`.execute(gateway.context.database.db)));
  assert.ok(relay.silenceOpen() >= 8, 'the pool of background work is full');
  // Cached keys are outdated now, so that every call needs the database.
  ahead += 5_000;
  await assertServed(2_000);
  // A statement that was under way when its connection fell silent ends by the limit of statements.
  await until('the usage to be recorded', async () => (await recordedCalls()) === served, 25_000);
});

test('a silent database is bridged by leases and caches for half a minute, then calls get 503 in their dialect', async () => {
  // The next call sends a heartbeat, with which the half minute begins.
  ahead += 31_000;
  await assertServed(5_000);
  relay.silenceAll();
  for (const seconds of [5, 10, 10]) {
    ahead += seconds * 1_000;
    await assertServed(2_000);
  }
  ahead += 10_000;
  for (const call of CALLS) {
    const { response, body, ms } = await send(call);
    assert.equal(response.status, call.status, JSON.stringify(body));
    assert.equal(errorCode(call.format, response.status, body), 'server_is_overloaded');
    assert.ok(Number(response.headers.get('retry-after')) >= 1, 'the client learns when to retry');
    assert.ok(ms < 5_000, `${call.path} took ${Math.round(ms)} ms`);
  }
  assert.deepEqual(
    gateway.log.filter(({ msg }) => msg === 'request.internal_error'),
    [],
  );
  const admin = await fetch(`${gateway.url}/v1/usage`, { headers: { authorization: `Bearer ${keys.openai}` } });
  assert.equal(admin.status, 503);
});

test('calls work again as soon as the database does, and nothing that was served is lost', async () => {
  relay.resume();
  await until('a call to be served', async () => (await send(CALLS[0] as CallCase)).response.status === 200, 10_000);
  await assertServed(5_000);
  await until('the usage to be recorded', async () => (await recordedCalls()) === served, 30_000);
});

longTest(
  '/readyz responds within its limit while the database is silent, and sends no check while one is under way',
  async () => {
    const silent = await TcpRelay.start(own.url);
    const waiting = await startGateway({ env: { DATABASE_URL: silent.url }, database: own });
    try {
      const ready = () => fetch(`${waiting.url}/readyz`);
      assert.equal((await ready()).status, 200);
      silent.silenceAll();
      const begun = performance.now();
      for (const response of await Promise.all([ready(), ready(), ready()])) {
        assert.equal(response.status, 503);
        assert.deepEqual(await response.json(), { status: 'not ready', reason: 'the database does not respond' });
      }
      assert.ok(performance.now() - begun < 3_500, 'Kubernetes waits for four seconds');
      silent.resume();
      await until('the server to be ready again', async () => (await ready()).status === 200);
    } finally {
      silent.resume();
      await waiting.stop();
      await silent.close();
    }
  },
);
