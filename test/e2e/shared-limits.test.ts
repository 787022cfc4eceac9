/** Two servers that count limits together, on a real Redis that comes and goes. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { run } from '../support/command.ts';
import { testDatabase } from '../support/database.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { noRedis, startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { SocketClient } from '../support/websocket.ts';

/** A dollar for each token that is read, and one at most: a dollar is set aside for every call. */
const DEAR = { context: 1, prices: { input: '1000000' } };

if (noRedis) console.log(`shared limits are not tested: ${noRedis}`);

for (const isCluster of [false, true]) {
  describe(`limits of two servers on ${isCluster ? 'a cluster' : 'one Redis'}`, { skip: noRedis }, () => {
    let sim: Sim;
    let redis: TestRedis;
    let one: TestGateway;
    let two: TestGateway;

    before(async () => {
      sim = await startSim();
      redis = await startRedis({ isCluster });
      one = await startGateway({ env: { REDIS_URL: redis.url } });
      two = await startGateway({ env: { REDIS_URL: redis.url }, database: one.database });
      await one.apply(basicSetup(sim.url));
      await one.apply({
        models: [
          { id: 'dear-slow', groups: ['claude'], upstream: 'demo-messages@events=100000;gap=20', ...DEAR },
          { id: 'dear-messages', groups: ['claude'], upstream: 'demo-messages', ...DEAR },
          { id: 'demo-*', groups: ['openai', 'claude', 'gemini'] },
        ],
      });
      await two.apply({});
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
    const ask = (gateway: TestGateway, key: string, over: object = {}, signal?: AbortSignal): Promise<Response> =>
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
    const statuses = async (answers: readonly Promise<Response>[]): Promise<Record<number, number>> => {
      const seen: Record<number, number> = {};
      for (const { status } of await Promise.all(answers)) seen[status] = (seen[status] ?? 0) + 1;
      return seen;
    };
    const lines = (gateway: TestGateway, msg: string): number => gateway.log.filter((line) => line.msg === msg).length;
    const both = (count: number, of: (gateway: TestGateway) => Promise<Response>): Promise<Response>[] =>
      Array.from({ length: count }, (_, n) => of(n % 2 === 0 ? one : two));

    /** On a machine that is too busy to answer in time, servers rightly count for themselves; what was seen then says nothing. */
    const undisturbed = async <T>(look: (n: number) => Promise<T>): Promise<T> => {
      for (let n = 0; ; n++) {
        await until('both to share', () => isShared(one) && isShared(two), 20_000);
        const lost = () => lines(one, 'limits.local') + lines(two, 'limits.local');
        const before = lost();
        const seen = await look(n);
        if (lost() === before || n === 9) return seen;
      }
    };
    const isShared = (gateway: TestGateway): boolean =>
      gateway.log.findLast(({ msg }) => msg.startsWith('limits.'))?.msg === 'limits.shared';

    test('requests per minute are those of both together, to the last one', async () => {
      let key = '';
      const seen = await undisturbed(async (n) => {
        key = await keyOf(`rpm-${n}`, { rpm: 500 }, { rpm: 6 });
        return statuses(both(100, (gateway) => ask(gateway, key)));
      });
      assert.deepEqual(seen, { 200: 6, 429: 94 });
      const refused = await ask(two, key);
      assert.equal(refused.headers.get('x-ratelimit-limit-requests'), '6');
      assert.equal(refused.headers.get('x-ratelimit-remaining-requests'), '0');
      assert.ok(Number(refused.headers.get('retry-after')) >= 1);
      assert.match(await refused.text(), /This user's limit of 6 requests/);
    });

    test('tokens that one has counted are missing at the other', async () => {
      const key = await keyOf('tpm', { tpm: 10 });
      const first = await ask(one, key);
      assert.equal(first.headers.get('x-ratelimit-remaining-tokens'), '10');
      await first.arrayBuffer();
      await until('the other to know', async () => (await ask(two, key)).status === 429);
    });

    test('calls at once: a place is free again when a client leaves, on whichever server', async () => {
      const key = await keyOf('place', { concurrency: 1 });
      const leave = new AbortController();
      const open = await ask(one, key, { model: 'demo-messages@events=100000;gap=5', stream: true }, leave.signal);
      assert.equal(open.status, 200);
      assert.equal((await ask(two, key)).status, 429);
      leave.abort();
      await until('the place', async () => (await ask(two, key)).status === 200);
    });

    test('a turn of a socket takes a place and a request like any call', async () => {
      const key = await keyOf('turn', { rpm: 2 });
      const client = await new SocketClient(one.url, key).open();
      const turn = { model: 'demo-messages', input: 'x' };
      assert.equal((await client.turn(turn)).error, undefined);
      assert.equal((await ask(two, key)).status, 200);
      assert.equal((await client.turn(turn)).error?.code, 'rate_limit_exceeded');
      client.socket.close();
    });

    test("a turn on the provider's own socket counts too; a client that leaves while Redis is asked asks nobody", async () => {
      const { openai = '' } = await one.apply({
        users: [{ id: 'raw', balance: '10' }],
        keys: [{ user: 'raw', group: 'openai', rpm: 100, concurrency: 1 }],
      });
      await two.apply({});
      sim.journal.clear();
      const turn = { model: 'demo-responses', input: 'x' };
      const client = await new SocketClient(one.url, openai).open();
      const other = await new SocketClient(two.url, openai).open();
      assert.equal((await client.turn(turn)).error, undefined);
      await until('the place', async () => (await other.turn(turn)).error === undefined);
      assert.ok(sim.journal.requests.every(({ method }) => method === 'WS'));
      redis.pause();
      try {
        client.create({ ...turn, input: 'left at once' });
        client.socket.close();
        await until('it to be missed', () => !isShared(one));
      } finally {
        redis.resume();
      }
      assert.ok(sim.journal.requests.every(({ body }) => !body?.includes('left at once')));
      await until('both to share', () => isShared(one) && isShared(two), 20_000);
      await until('its place', async () => (await other.turn(turn)).error === undefined);
      other.socket.close();
    });

    test('of 200 calls at once on both under a spend limit for 37, exactly 37 are admitted', async () => {
      let key = '';
      const seen = await undisturbed(async (n) => {
        key = await keyOf(`spend-${n}`, {}, { spend_day: '37' });
        const leave = new AbortController();
        const slow = (gateway: TestGateway) => ask(gateway, key, { model: 'dear-slow', stream: true }, leave.signal);
        return statuses(both(200, slow)).finally(() => leave.abort());
      });
      assert.deepEqual(seen, { 200: 37, 429: 163 });
      // What the calls cost in the end is more than was set aside, and counts on both sides.
      for (const gateway of [one, two])
        await until('it to be spent', async () =>
          (await (await ask(gateway, key, { model: 'dear-messages' })).text()).includes('spend_limit_reached'),
        );
    });

    test('what a server that died had open is free when nobody has renewed it', async () => {
      const key = await keyOf('dead', { concurrency: 1 }, { spend_day: '1.5' });
      const leave = new AbortController();
      const open = await ask(one, key, { model: 'dear-slow', stream: true }, leave.signal);
      assert.equal(open.status, 200);
      assert.match(await (await ask(two, key, { model: 'dear-messages' })).text(), /may have 1 calls at once/);
      const names = redis.cli('--scan', '--pattern', 'dragoman:{dead}:*').trim().split('\n');
      const expire = (what: string): void => {
        const name = names.find((one) => one.endsWith(what)) ?? assert.fail(what);
        const ends = Number(redis.cli('zrange', name, '0', '-1', 'withscores').trim().split('\n')[1]);
        assert.ok(ends > Date.now() && ends <= Date.now() + 61_000, 'it ends by itself within a minute');
        redis.cli('zadd', name, '1', redis.cli('zrange', name, '0', '0').trim());
      };
      expire(':open');
      assert.match(await (await ask(two, key, { model: 'dear-messages' })).text(), /set aside for its calls in flight/);
      expire(':holds');
      assert.equal((await ask(two, key, { model: 'dear-messages' })).status, 200);
      leave.abort();
    });

    test('no key, no address and no text of anybody is in Redis', async () => {
      const key = await keyOf('secret', { rpm: 10, concurrency: 3, spend_day: '1' });
      assert.equal((await ask(one, key)).status, 200);
      const names = redis.cli('--scan').trim().split('\n');
      assert.ok(names.some((name) => name.startsWith('dragoman:{secret}:key:key_')));
      assert.ok(names.every((name) => /^dragoman:\{[\w.-]+\}:(user|key:key_\w+):(rates|open|spent|holds)$/.test(name)));
      assert.ok(!names.join().includes(key));
    });

    test('without Redis each counts for itself at once, and both count together again when it is back', async () => {
      let key = '';
      await undisturbed(async (n) => {
        key = await keyOf(`gone-${n}`, { rpm: 6 });
        assert.deepEqual(await statuses(both(4, (gateway) => ask(gateway, key))), { 200: 4 });
      });
      const [lost, shared] = [lines(one, 'limits.local'), lines(one, 'limits.shared')];
      const [lostToo, sharedToo] = [lines(two, 'limits.local'), lines(two, 'limits.shared')];
      await redis.kill();
      const begun = performance.now();
      // Two each were counted along.
      assert.deepEqual(await statuses(both(20, (gateway) => ask(gateway, key))), { 200: 8, 429: 12 });
      assert.ok(performance.now() - begun < 3_000, 'nobody waits for a Redis that is not there');
      assert.deepEqual([lines(one, 'limits.local'), lines(two, 'limits.local')], [lost + 1, lostToo + 1]);
      assert.match(await (await fetch(`${one.url}/metrics`)).text(), /^dragoman_limits_shared 0/m);
      await redis.start();
      const isBack = () => lines(one, 'limits.shared') > shared && lines(two, 'limits.shared') > sharedToo;
      await until('both to be back', isBack, 20_000);
      assert.match(await (await fetch(`${one.url}/metrics`)).text(), /^dragoman_limits_shared 1/m);
      const seen = await undisturbed(async (n) => {
        const fresh = await keyOf(`back-${n}`, { rpm: 6 });
        return statuses(both(20, (gateway) => ask(gateway, fresh)));
      });
      assert.deepEqual(seen, { 200: 6, 429: 14 });
    });

    test('what was spent and what is open while Redis was away is known to it afterwards', async () => {
      const key = await keyOf('kept', { concurrency: 1 }, { spend_month: '1000' });
      const leave = new AbortController();
      const open = await ask(one, key, { model: 'dear-slow', stream: true }, leave.signal);
      assert.equal(open.status, 200);
      const before = lines(two, 'limits.shared');
      redis.cli('flushall');
      await redis.kill();
      await redis.start();
      await until(
        'both to be back',
        () => lines(two, 'limits.shared') > before && lines(one, 'limits.shared') > before,
        20_000,
      );
      await until('the place of the open call', async () => (await ask(two, key)).status === 429);
      leave.abort();
      await until('its end', async () => (await ask(two, key)).status === 200);
      const spent = await until('what it cost', async () => {
        const usage = await fetch(`${two.url}/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
        const { limits } = (await usage.json()) as { limits: { user: { spent_month: string } } };
        return limits.user.spent_month === '0' ? undefined : limits.user.spent_month;
      });
      await keyOf('kept', {}, { spend_month: spent });
      for (const gateway of [one, two]) {
        const refused = await ask(gateway, key, { model: 'dear-messages' });
        assert.match(await refused.text(), /spend_limit_reached/);
      }
    });

    test('a Redis that hangs holds up nobody', async () => {
      const key = await keyOf('hang', { rpm: 1_000 });
      assert.equal((await ask(one, key)).status, 200);
      const before = lines(one, 'limits.local');
      redis.pause();
      try {
        const begun = performance.now();
        assert.equal((await ask(one, key)).status, 200);
        assert.ok(performance.now() - begun < 2_000);
        assert.equal(lines(one, 'limits.local'), before + 1);
        assert.equal((await ask(one, key)).status, 200);
      } finally {
        redis.resume();
      }
    });
  });
}

test('a server starts without its Redis, and says so once', { skip: noRedis }, async () => {
  const gateway = await startGateway({ env: { REDIS_URL: 'redis://127.0.0.1:9' } });
  try {
    assert.equal(gateway.log.filter(({ msg }) => msg === 'limits.local').length, 1);
    assert.equal((await fetch(`${gateway.url}/readyz`)).status, 200);
  } finally {
    await gateway.stop();
  }
});

test('doctor looks at Redis where one is set', { skip: noRedis }, async () => {
  const redis = await startRedis();
  const database = await testDatabase();
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'dragoman-doctor-'));
  const doctor = () => run(['doctor'], { env: { DATA_DIR, DATABASE_URL: database.url, REDIS_URL: redis.url } });
  try {
    const good = await doctor();
    assert.match(good.stdout, /^ok {4}Redis +answers and runs scripts/m);
    assert.equal(good.code, 0, good.stdout);
    redis.pause();
    const hung = await doctor();
    assert.match(hung.stdout, /^BAD {3}Redis +at REDIS_URL: no connection within 3000 ms; each server counts/m);
    assert.equal(hung.code, 1);
    redis.resume();
    await redis.kill();
    assert.match((await doctor()).stdout, /^BAD {3}Redis +at REDIS_URL: connect ECONNREFUSED/m);
  } finally {
    await redis.stop();
    await database.drop();
    rmSync(DATA_DIR, { recursive: true, force: true });
  }
});
