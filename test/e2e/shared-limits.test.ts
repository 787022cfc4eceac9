/** Two gateways that share limits through a real Redis, which is stopped and restarted. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { VIDEO_REQUESTS_PER_MINUTE } from '../../src/rules/index.ts';
import { runHere } from '../support/cli.ts';
import { testDatabase } from '../support/database.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { HeldClock } from '../support/held-clock.ts';
import { longTest, someOf } from '../support/long-test.ts';
import { noRedis, startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { ResponsesSocketClient } from '../support/websocket.ts';

/** In which a gateway counts the time that a reply of Redis takes. */
const STEP_MS = 10;

interface Expected {
  readonly limit: number;
  readonly calls: number;
  /** `performance.now()` before the first call. */
  readonly since: number;
}

/** One dollar per input token and a context of one token: each call reserves one dollar. */
const COSTLY = { context: 1, prices: { input: '1000000', output: '0' } };

if (noRedis) console.log(`shared limits are not tested: ${noRedis}`);

for (const isCluster of someOf([false, true], 1)) {
  describe(`limits of two servers on ${isCluster ? 'a cluster' : 'one Redis'}`, { skip: noRedis }, () => {
    /** A reply of Redis is late when the test says so, not because the machine is slow. */
    const clock = new HeldClock(STEP_MS);
    let sim: Sim;
    let redis: TestRedis;
    let one: TestGateway;
    let two: TestGateway;

    before(async () => {
      sim = await startSim();
      redis = await startRedis({ isCluster });
      one = await startGateway({ env: { REDIS_URL: redis.url }, clock });
      two = await startGateway({ env: { REDIS_URL: redis.url }, clock, database: one.database });
      await one.apply(basicSetup(sim.url));
      await one.apply({
        models: [
          { id: 'costly-slow', groups: ['claude'], upstream: 'demo-messages@events=100000;gap=20', ...COSTLY },
          { id: 'costly-messages', groups: ['claude'], upstream: 'demo-messages', ...COSTLY },
          { id: 'demo-*', groups: ['openai', 'claude', 'gemini'] },
        ],
      });
      await two.apply({});
      await until('shared limits', () => isShared(one) && isShared(two));
    });
    after(async () => {
      await two?.stop();
      await one?.stop();
      await redis?.stop();
      await sim?.close();
    });

    const keyOf = async (user: string, limits: object, userLimits: object = {}): Promise<string> => {
      const { claude = '' } = await one.apply({
        users: [{ id: user, balance: '100000', ...userLimits }],
        keys: [{ user, group: 'claude', ...limits }],
      });
      await two.apply({});
      return claude;
    };
    const send = (gateway: TestGateway, key: string, over: object = {}, signal?: AbortSignal): Promise<Response> =>
      fetch(`${gateway.url}/v1/messages`, {
        method: 'POST',
        ...(signal && { signal }),
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'demo-messages',
          max_tokens: 10,
          messages: [{ role: 'user', content: 'x' }],
          ...over,
        }),
      });
    const statuses = async (responses: readonly Promise<Response>[]): Promise<Record<number, number>> => {
      const seen: Record<number, number> = {};
      for (const { status } of await Promise.all(responses)) seen[status] = (seen[status] ?? 0) + 1;
      return seen;
    };
    const lines = (gateway: TestGateway, msg: string): number => gateway.log.filter((line) => line.msg === msg).length;
    const both = (count: number, request: (gateway: TestGateway) => Promise<Response>): Promise<Response>[] =>
      Array.from({ length: count }, (_, n) => request(n % 2 === 0 ? one : two));

    /** Expects that so many of `calls` were admitted, and as many again in each further minute that has passed. */
    const expectAdmitted = (seen: Record<number, number>, { limit, calls, since }: Expected): void => {
      const { 200: admitted = 0, 429: rejected = 0 } = seen;
      const minutes = Math.ceil((performance.now() - since) / 60_000);
      assert.ok(admitted >= limit && admitted <= limit * minutes, `${admitted} of ${calls} in ${minutes} minutes`);
      assert.equal(admitted + rejected, calls);
    };
    /** Lets the replies for which a gateway waits be late. */
    const untilLate = (gateway: TestGateway): Promise<unknown> =>
      until('the fallback to local limits', () => {
        clock.fire(STEP_MS);
        return !isShared(gateway);
      });
    const isShared = (gateway: TestGateway): boolean =>
      gateway.log.findLast(({ msg }) => msg.startsWith('limits.'))?.msg === 'limits.shared';

    test('shared limits: requests per minute count over both gateways', async () => {
      const key = await keyOf('rpm', { rpm: 500 }, { rpm: 6 });
      const since = performance.now();
      const seen = await statuses(both(100, (gateway) => send(gateway, key)));
      expectAdmitted(seen, { limit: 6, calls: 100, since });
      const rejected = await until('a rejection', async () => {
        const response = await send(two, key);
        return response.status === 429 ? response : undefined;
      });
      assert.equal(rejected.headers.get('x-ratelimit-limit-requests'), '6');
      assert.equal(rejected.headers.get('x-ratelimit-remaining-requests'), '0');
      assert.ok(Number(rejected.headers.get('retry-after')) >= 1);
      assert.match(await rejected.text(), /this user .*\b6 requests per minute/i);
    });

    test('shared limits: the rate of a video operation counts over both gateways', async () => {
      const limit = VIDEO_REQUESTS_PER_MINUTE.list;
      const key = await keyOf('lists', {});
      const list = (gateway: TestGateway) =>
        fetch(`${gateway.url}/v1/videos`, { headers: { authorization: `Bearer ${key}` } });
      const since = performance.now();
      const seen = await statuses(both(limit + 40, list));
      expectAdmitted(seen, { limit, calls: limit + 40, since });
      const text = await until('a rejection', async () => {
        const response = await list(two);
        const body = await response.text();
        return response.status === 429 ? body : undefined;
      });
      assert.match(text, /requests per minute of this operation/);
    });

    test('shared limits: tokens counted by one gateway are missing at the other', async () => {
      const key = await keyOf('tpm', { tpm: 10 });
      const first = await send(one, key);
      assert.equal(first.headers.get('x-ratelimit-remaining-tokens'), '10');
      await first.arrayBuffer();
      await until('the other gateway', async () => (await send(two, key)).status === 429);
    });

    test('shared limits: a client disconnect releases the concurrency slot on both gateways', async () => {
      const key = await keyOf('place', { concurrency: 1 });
      const controller = new AbortController();
      const open = await send(
        one,
        key,
        { model: 'demo-messages@events=100000;gap=40', stream: true },
        controller.signal,
      );
      assert.equal(open.status, 200);
      assert.equal((await send(two, key)).status, 429);
      controller.abort();
      await until('the slot', async () => (await send(two, key)).status === 200);
    });

    test('shared limits: a WebSocket turn counts as a request', async () => {
      const key = await keyOf('turn', { rpm: 2 });
      const client = await new ResponsesSocketClient(one.url, key).open();
      const turn = { model: 'demo-messages', input: 'x' };
      assert.equal((await client.turn(turn)).error, undefined);
      assert.equal((await send(two, key)).status, 200);
      assert.equal((await client.turn(turn)).error?.code, 'rate_limit_exceeded');
      client.socket.close();
    });

    test('shared limits: a relayed WebSocket turn counts, and is not sent when the client disconnects while Redis is slow', async () => {
      const { openai = '' } = await one.apply({
        users: [{ id: 'relayed', balance: '10' }],
        keys: [{ user: 'relayed', group: 'openai', rpm: 100, concurrency: 1 }],
      });
      await two.apply({});
      sim.journal.clear();
      const turn = { model: 'demo-responses', input: 'x' };
      const client = await new ResponsesSocketClient(one.url, openai).open();
      const other = await new ResponsesSocketClient(two.url, openai).open();
      assert.equal((await client.turn(turn)).error, undefined);
      await until('the slot', async () => (await other.turn(turn)).error === undefined);
      assert.ok(sim.journal.requests.every(({ method }) => method === 'WS'));
      redis.pause();
      try {
        client.create({ ...turn, input: 'disconnected at once' });
        client.socket.close();
        await untilLate(one);
      } finally {
        redis.resume();
      }
      assert.ok(sim.journal.requests.every(({ body }) => !body?.includes('disconnected at once')));
      await until('shared limits', () => isShared(one) && isShared(two));
      await until('the slot', async () => (await other.turn(turn)).error === undefined);
      other.socket.close();
    });

    test('shared limits: of 200 concurrent calls under a spend limit for 37, exactly 37 are admitted', async () => {
      const key = await keyOf('spend', {}, { spend_day: '37' });
      const controller = new AbortController();
      const slow = (gateway: TestGateway) =>
        send(gateway, key, { model: 'costly-slow', stream: true }, controller.signal);
      const seen = await statuses(both(200, slow)).finally(() => controller.abort());
      assert.deepEqual(seen, { 200: 37, 429: 163 });
      // The calls cost more than they reserved, and the difference counts on both gateways.
      for (const gateway of [one, two])
        await until('the spend limit', async () =>
          (await (await send(gateway, key, { model: 'costly-messages' })).text()).includes('spend_limit_reached'),
        );
    });

    test('shared limits: slots and spend holds of a dead gateway expire when they are not renewed', async () => {
      const key = await keyOf('dead', { concurrency: 1 }, { spend_day: '1.5' });
      const controller = new AbortController();
      const open = await send(one, key, { model: 'costly-slow', stream: true }, controller.signal);
      assert.equal(open.status, 200);
      assert.match(await (await send(two, key, { model: 'costly-messages' })).text(), /may have 1 requests in flight/);
      const names = redis.cli('--scan', '--pattern', 'dragoman:{dead}:*').trim().split('\n');
      const expire = (what: string): void => {
        const name = names.find((one) => one.endsWith(what)) ?? assert.fail(what);
        const ends = Number(redis.cli('zrange', name, '0', '-1', 'withscores').trim().split('\n')[1]);
        assert.ok(ends > Date.now() && ends <= Date.now() + 61_000, 'it expires within a minute');
        redis.cli('zadd', name, '1', redis.cli('zrange', name, '0', '0').trim());
      };
      expire(':open');
      assert.match(
        await (await send(two, key, { model: 'costly-messages' })).text(),
        /reserved for requests in flight/,
      );
      expire(':holds');
      // The slot of the refused call may still be on its way back to Redis.
      await until('a call', async () => (await send(two, key, { model: 'costly-messages' })).status === 200);
      controller.abort();
    });

    test('shared limits: Redis holds no key value, address or text', async () => {
      const key = await keyOf('secret', { rpm: 10, concurrency: 3, spend_day: '1' });
      assert.equal((await send(one, key)).status, 200);
      const names = redis.cli('--scan').trim().split('\n');
      assert.ok(names.some((name) => name.startsWith('dragoman:{secret}:key:key_')));
      for (const name of names)
        assert.match(
          name,
          /^dragoman:\{[\w.-]+\}:(user|key:key_\w+|operation:[\w.:-]+):(requests|tokens|open|spent|holds)$/,
        );
      assert.ok(!names.join().includes(key));
    });

    test('shared limits: each gateway counts alone at once when Redis is down, and both count together again afterwards', async () => {
      const key = await keyOf('gone', { rpm: 6 });
      const since = performance.now();
      assert.deepEqual(await statuses(both(4, (gateway) => send(gateway, key))), { 200: 4 });
      const [fallbacks, shared] = [lines(one, 'limits.local'), lines(one, 'limits.shared')];
      const [otherFallbacks, sharedToo] = [lines(two, 'limits.local'), lines(two, 'limits.shared')];
      await redis.kill();
      // The local counters already include two calls each. No call waits for Redis.
      const alone = await statuses(both(20, (gateway) => send(gateway, key)));
      expectAdmitted(alone, { limit: 8, calls: 20, since });
      assert.deepEqual([lines(one, 'limits.local'), lines(two, 'limits.local')], [fallbacks + 1, otherFallbacks + 1]);
      await until('the metric', async () =>
        /^dragoman_limits_shared 0/m.test(await (await fetch(`${one.url}/metrics`)).text()),
      );
      await redis.start();
      const isBack = () => lines(one, 'limits.shared') > shared && lines(two, 'limits.shared') > sharedToo;
      await until('shared limits', isBack);
      await until('the metric', async () =>
        /^dragoman_limits_shared 1/m.test(await (await fetch(`${one.url}/metrics`)).text()),
      );
      const fresh = await keyOf('back', { rpm: 6 });
      const freshSince = performance.now();
      const seen = await statuses(both(20, (gateway) => send(gateway, fresh)));
      expectAdmitted(seen, { limit: 6, calls: 20, since: freshSince });
    });

    test('shared limits: open calls and spend are restored in Redis after it was lost', async () => {
      const key = await keyOf('kept', { concurrency: 1 }, { spend_month: '1000' });
      const controller = new AbortController();
      const open = await send(one, key, { model: 'costly-slow', stream: true }, controller.signal);
      assert.equal(open.status, 200);
      const before = lines(two, 'limits.shared');
      redis.cli('flushall');
      await redis.kill();
      await redis.start();
      await until('shared limits', () => lines(two, 'limits.shared') > before && lines(one, 'limits.shared') > before);
      await until('the slot of the open call', async () => (await send(two, key)).status === 429);
      controller.abort();
      await until('the end of the call', async () => (await send(two, key)).status === 200);
      const spent = await until('the charge', async () => {
        const usage = await fetch(`${two.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
        const { limits } = (await usage.json()) as { limits: { user: { spent_month: string } } };
        return limits.user.spent_month === '0' ? undefined : limits.user.spent_month;
      });
      await keyOf('kept', {}, { spend_month: spent });
      for (const gateway of [one, two]) {
        const rejected = await send(gateway, key, { model: 'costly-messages' });
        assert.match(await rejected.text(), /spend_limit_reached/);
      }
    });

    test('shared limits: a Redis that hangs delays no call', async () => {
      const key = await keyOf('hang', { rpm: 1_000 });
      assert.equal((await send(one, key)).status, 200);
      await until('shared limits', () => isShared(one));
      const before = lines(one, 'limits.local');
      redis.pause();
      try {
        const waiting = send(one, key);
        await untilLate(one);
        assert.equal((await waiting).status, 200);
        assert.equal(lines(one, 'limits.local'), before + 1);
        assert.equal((await send(one, key)).status, 200);
      } finally {
        redis.resume();
      }
    });
  });
}

test('a gateway starts without its Redis and logs it once', { skip: noRedis }, async () => {
  const gateway = await startGateway({ env: { REDIS_URL: 'redis://127.0.0.1:9' } });
  try {
    assert.equal(gateway.log.filter(({ msg }) => msg === 'limits.local').length, 1);
    assert.equal((await fetch(`${gateway.url}/readyz`)).status, 200);
  } finally {
    await gateway.stop();
  }
});

longTest('doctor checks Redis when REDIS_URL is set', { skip: noRedis }, async () => {
  const redis = await startRedis();
  const database = await testDatabase();
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'dragoman-doctor-'));
  const doctor = () => runHere(['doctor'], { env: { DATA_DIR, DATABASE_URL: database.url, REDIS_URL: redis.url } });
  try {
    const good = await doctor();
    assert.match(good.stdout, /^ok {4}Redis +/m);
    assert.equal(good.code, 0, good.stdout);
    redis.pause();
    const hanging = await doctor();
    assert.match(hanging.stdout, /^BAD {3}Redis +.*REDIS_URL.*3000 ms/m);
    assert.equal(hanging.code, 1);
    redis.resume();
    await redis.kill();
    assert.match((await doctor()).stdout, /^BAD {3}Redis +.*ECONNREFUSED/m);
  } finally {
    await redis.stop();
    await database.drop();
    rmSync(DATA_DIR, { recursive: true, force: true });
  }
});
