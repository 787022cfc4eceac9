/** The scripts of the rate limits in a real Redis, with the time of the test. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { HeldClock } from '../../../test/support/held-clock.ts';
import { runs } from '../../../test/support/properties.ts';
import { noRedis, startRedis, type TestRedis } from '../../../test/support/redis.ts';
import { until } from '../../../test/support/wait.ts';
import { silentLog } from '../../core/index.ts';
import { LEASE_MS, Redis } from '../../platform/redis/index.ts';
import { AccountUsage } from './account-usage.ts';
import type { LimitScope, Take } from './limiter.ts';
import { LocalLimits } from './local-limits.ts';
import { RedisLimits, shareUsage } from './redis-limits.ts';

describe('rate limits in Redis', { skip: noRedis }, () => {
  let server: TestRedis;
  let redis: Redis;
  let users = 0;

  before(async () => {
    server = await startRedis();
    // A reply is never late, however slow the machine.
    redis = new Redis({ url: server.url, clock: new HeldClock(10), log: silentLog });
    await redis.start();
    await until('the connection', () => redis.isUp);
    // The first run of a script is sent twice, so that later ones may overtake it.
    const { take, count } = open(new FakeClock(), { rpm: 9, tpm: 9 });
    count(1);
    await until('the first tokens', async () => (await take()).used[0]?.tokens.used === 1);
  });
  after(async () => {
    await redis?.close();
    await server?.stop();
  });

  /** A scope that no test has used, and its limits by the clock of the test. */
  function open(clock: FakeClock, limits: LimitScope['limits'], burst = limits.rpm ?? 0) {
    users += 1;
    const scopes: LimitScope[] = [{ owner: 'user', id: `u${users}`, userId: `u${users}`, limits, burst }];
    const limiter = new RedisLimits(redis, new LocalLimits(new FakeClock()), () => String(clock.now()));
    return {
      scopes,
      take: async (): Promise<Take> => limiter.take(scopes),
      count: limiter.count.bind(limiter, scopes),
    };
  }

  test('the scripts decide and report as the counts of one process do', async () => {
    const step = fc.record({
      ms: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 300 }), fc.integer({ min: 300, max: 40_000 })),
      tokens: fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined }),
      ends: fc.boolean(),
    });
    const limit = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(
        fc.record({ rpm: limit(12), tpm: limit(1_000), concurrency: limit(5) }),
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { minLength: 20, maxLength: 60 }),
        async (limits, burst, steps) => {
          const clock = new FakeClock();
          const local = new LocalLimits(clock);
          const shared = open(clock, limits, burst);
          const slots: { readonly at: number; readonly end: () => void }[] = [];
          for (const { ms, tokens, ends } of steps) {
            // A lease that nobody renews in the time of the test would end in Redis only.
            while (slots[0] && slots[0].at + LEASE_MS <= clock.elapsed() + ms) slots.shift()?.end();
            clock.advance(ms);
            const expected = local.take(shared.scopes);
            const found = await shared.take();
            assert.equal(found.release === undefined, expected.release === undefined);
            const { requests, tokens: used } = expected.used[0] ?? assert.fail();
            assert.deepEqual({ ...found.used[0], open: 0 }, { requests, tokens: used, open: 0 });
            const { release } = expected;
            const end = (): void => {
              release?.();
              found.release?.();
            };
            if (release) slots.push({ at: clock.elapsed(), end });
            if (tokens !== undefined && limits.tpm !== undefined) {
              local.count(shared.scopes, tokens);
              shared.count(tokens);
            }
            if (ends) slots.shift()?.end();
          }
          for (const { end } of slots) end();
        },
      ),
      { numRuns: runs(60) },
    );
  });

  test('no 60 s admit more than the limit while the clock of Redis is set back, and a minute later it is free again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.array(
          fc.record({
            ms: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20_000 })),
            back: fc.constantFrom(0, 0, 0, 0, 20, 900, 3_600_000),
          }),
          { minLength: 20, maxLength: 60 },
        ),
        async (rpm, steps) => {
          const clock = new FakeClock();
          const { take } = open(clock, { rpm });
          const admitted: number[] = [];
          for (const { ms, back } of steps) {
            clock.advance(ms);
            clock.set(clock.now() - back);
            if ((await take()).release) admitted.push(clock.elapsed());
          }
          for (const at of admitted) {
            const within = admitted.filter((one) => one > at - 60_000 && one <= at);
            assert.ok(within.length <= rpm, `${within.length} of ${rpm}`);
          }
          clock.advance(60_000 + 1_000);
          for (let n = 0; n < rpm; n++) assert.ok((await take()).release, 'all of it is free');
          assert.equal((await take()).release, undefined);
        },
      ),
      { numRuns: runs(60) },
    );
  });

  test('a replica learns with its own request what others have used of the limit of an account', async () => {
    const account = { id: 'shared', limits: { rpm: 3, tpm: 100 } };
    const clock = new FakeClock();
    const [one, two] = [new AccountUsage(clock, 100), new AccountUsage(clock, 100)];
    for (const usage of [one, two]) shareUsage(redis, usage);
    for (let n = 0; n < 2; n++) one.begin(account);
    assert.equal(two.reached(account, 0), undefined);
    two.begin(account);
    await until('the sum', () => two.reached(account, 0)?.limit === 'rpm');
    assert.equal(one.reached(account, 0), undefined, 'it has sent nothing since');
    two.adopt(new Map());
    assert.equal(two.reached(account, 0), undefined, 'what the database says is the base');
    one.count('shared', 100);
    two.count('shared', 1);
    await until('the tokens', () => two.reached(account, 0)?.limit === 'tpm');
  });

  test('what an earlier version has stored breaks nothing, and every key of an idle scope expires', async () => {
    const clock = new FakeClock();
    const { take, count, scopes } = open(clock, { rpm: 2, tpm: 100, concurrency: 3 });
    const prefix = `dragoman:{${scopes[0]?.id}}:user`;
    server.cli('hset', `${prefix}:rates`, 'requests', '2', 'requests_at', '1', 'tokens', '900.5', 'tokens_at', '1');
    assert.ok((await take()).release);
    count(10);
    assert.ok((await take()).release);
    assert.equal((await take()).release, undefined);
    const keys = ['requests', 'tokens', 'open'].map((what) => `${prefix}:${what}`);
    for (const name of keys) assert.ok(Number(server.cli('pttl', name)) > 0, name);
  });

  test('the cells of a busy scope stay few', async () => {
    const clock = new FakeClock();
    const { take, scopes } = open(clock, { rpm: 1_000_000 });
    for (let n = 0; n < 2_000; n++) {
      clock.advance(70);
      (await take()).release?.();
    }
    const fields = Number(server.cli('hlen', `dragoman:{${scopes[0]?.id}}:user:requests`));
    assert.ok(fields <= 602, `${fields}`);
  });
});
