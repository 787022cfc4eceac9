/**
 * A database that goes silent behind a broken network: the gateway serves from leases and caches, then rejects, then
 * recovers.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { systemClock } from '../../src/core/index.ts';
import { openDatabase } from '../../src/platform/db/index.ts';
import type { ErrorFormat } from '../../src/rules/index.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { errorCode } from '../support/error-body.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { HeldClock } from '../support/held-clock.ts';
import { longTest } from '../support/long-test.ts';
import { TcpRelay } from '../support/tcp-relay.ts';
import { until } from '../support/wait.ts';

/** How long a probe waits for the database. Kubernetes waits for four seconds. */
const READY_MS = 2_000;
const PRICES = { input: '2', output: '10' };
/**
 * Short enough to wait for, and long enough for every statement on a slow machine: a call may meet a silent connection,
 * and its probe, a new connection and its statements share the limit of a call.
 */
const LIMITS = { connectMs: 8_000, statementMs: 10_000, callMs: 8_000, idleMs: 100, probeMs: 1_000 };

let sim: Sim;
let own: TestDatabase;
let relay: TcpRelay;
let gateway: TestGateway;
let keys: Record<string, string>;
/** Milliseconds that have passed on the clock of the gateway, which stands still between the steps of a test. */
let passed = 0;
const clock = { ...systemClock, now: () => Date.now() + passed, elapsed: () => passed };

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

async function send({ group, path, body }: CallCase): Promise<{ response: Response; body: unknown }> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const result = { response, body: await response.json() };
  if (response.status === 200) served += 1;
  return result;
}

async function assertServed(): Promise<void> {
  for (const { response, body } of await Promise.all(CALLS.map(send)))
    assert.equal(response.status, 200, JSON.stringify(body));
}

/** Calls that the gateway has recorded, read past the relay. */
async function recordedCalls(): Promise<number> {
  const direct = openDatabase(own.url, 1);
  const { rows } = await sql<{ count: bigint }>`select count(*) from usage_records`.execute(direct.db);
  await direct.close();
  return Number(rows[0]?.count);
}

test('calls continue while pooled connections are silent and new ones work', async () => {
  await assertServed();
  await until('the pool of background work is full', async () => {
    await Promise.all(Array.from({ length: 12 }, () => sql`select pg_sleep(0.1)`.execute(gateway.context.database.db)));
    return relay.openConnections >= 8;
  });
  relay.silenceOpen();
  // Cached keys are outdated now, so that every call needs the database.
  passed += 5_000;
  await assertServed();
  // A statement that was under way when its connection fell silent ends by the limit of statements.
  await until('the usage to be recorded', async () => (await recordedCalls()) === served);
});

test('a silent database is bridged by leases and caches for half a minute, then calls get 503 in their dialect', async () => {
  // The next call sends a heartbeat, with which the half minute begins. One that meets a silent connection of the test before is rejected.
  passed += 31_000;
  await until('a heartbeat', async () => (await send(CALLS[0] as CallCase)).response.status === 200);
  await assertServed();
  relay.silenceAll();
  for (const seconds of [5, 10, 10]) {
    passed += seconds * 1_000;
    await assertServed();
  }
  passed += 10_000;
  const rejected = await Promise.all(CALLS.map(send));
  for (const [n, call] of CALLS.entries()) {
    const { response, body } = rejected[n] ?? assert.fail();
    assert.equal(response.status, call.status, JSON.stringify(body));
    assert.equal(errorCode(call.format, response.status, body), 'server_is_overloaded');
    assert.ok(Number(response.headers.get('retry-after')) >= 1, 'the client learns when to retry');
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
  await until('a call to be served', async () => (await send(CALLS[0] as CallCase)).response.status === 200);
  await assertServed();
  await until('the usage to be recorded', async () => (await recordedCalls()) === served);
});

longTest(
  '/readyz responds within its limit while the database is silent, and sends no check while one is under way',
  async () => {
    const silent = await TcpRelay.start(own.url);
    const held = new HeldClock(READY_MS);
    const limits = { connectMs: 3_000, callMs: 3_000, probeMs: 3_000, clock: new HeldClock(3_000) };
    const waiting = await startGateway({ env: { DATABASE_URL: silent.url }, database: own, clock: held, limits });
    try {
      const ready = () => fetch(`${waiting.url}/readyz`);
      assert.equal((await ready()).status, 200);
      silent.silenceAll();
      const responses: Response[] = [];
      for (let n = 0; n < 3; n += 1) void ready().then((response) => responses.push(response));
      await until('all responses', () => {
        held.fire(READY_MS);
        return responses.length === 3;
      });
      for (const response of responses) {
        assert.equal(response.status, 503);
        assert.deepEqual(await response.json(), { status: 'not ready', reason: 'the database does not respond' });
      }
      silent.resume();
      limits.clock.fire(limits.callMs);
      await until('the server to be ready again', async () => (await ready()).status === 200);
    } finally {
      silent.resume();
      await waiting.stop();
      await silent.close();
    }
  },
);
