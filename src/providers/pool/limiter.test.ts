import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { runs } from '../../../test/support/properties.ts';
import { ApiError, type Limits } from '../../core/index.ts';
import type { Redis } from '../../platform/redis/index.ts';
import { burstOf, Limiter, type Slot } from './limiter.ts';
import { LocalLimits } from './local-limits.ts';
import { RedisLimits } from './redis-limits.ts';

const isRejected =
  (retryAfter: number, message = /./) =>
  (error: unknown) =>
    error instanceof ApiError &&
    error.code === 'rate_limit_exceeded' &&
    error.details.retryAfter === retryAfter &&
    message.test(error.message);
/** A limiter that counts in this process, and so replies at once. */
function localLimiter(clock: FakeClock, burstPercent?: number) {
  const limiter = new Limiter(new LocalLimits(clock), burstPercent);
  return {
    acquire: (...request: Parameters<Limiter['acquire']>) => limiter.acquire(...request) as Slot | undefined,
    count: (...tokens: Parameters<Limiter['count']>) => limiter.count(...tokens),
  };
}
const key = (limits: Limits, id = 'k') => ({ id, userId: 'u', limits });

test('the limiter admits rpm requests in 60 s, and each of them makes room 60 s later', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  for (let n = 0; n < 6; n++) {
    limiter.acquire(key({ rpm: 6 }))?.release();
    clock.advance(5_000);
  }
  assert.throws(() => limiter.acquire(key({ rpm: 6 })), isRejected(30));
  clock.advance(29_999);
  assert.throws(() => limiter.acquire(key({ rpm: 6 })), isRejected(1));
  clock.advance(1);
  const slot = limiter.acquire(key({ rpm: 6 }));
  assert.deepEqual(slot?.headers, {
    'x-ratelimit-limit-requests': '6',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '60s',
  });
  assert.throws(() => limiter.acquire(key({ rpm: 6 })), isRejected(5));
});

test('the limiter admits no more than the burst within a second', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock, 10);
  for (let n = 0; n < 6; n++) limiter.acquire(key({ rpm: 60 }));
  assert.throws(() => limiter.acquire(key({ rpm: 60 })), isRejected(1));
  clock.advance(1_000);
  for (let n = 0; n < 6; n++) limiter.acquire(key({ rpm: 60 }));
  assert.throws(() => limiter.acquire(key({ rpm: 60 })), isRejected(1));
});

test('a request that uses more tokens than the limit is followed by none for 60 s', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  limiter.acquire(key({ tpm: 600 }))?.release();
  limiter.count(key({ tpm: 600 }), 1_200);
  assert.throws(() => limiter.acquire(key({ tpm: 600 })), isRejected(60));
  clock.advance(60_000);
  limiter.acquire(key({ tpm: 600 }));
});

test('requests in flight count with the mean of the tokens that requests used, and before the first with a tenth of the limit', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  const limited = key({ tpm: 12_000 });
  const first = Array.from({ length: 10 }, () => limiter.acquire(limited));
  assert.throws(() => limiter.acquire(limited), isRejected(1, /12000 tokens per minute/));
  for (const slot of first) slot?.release();
  limiter.count(limited, 3_000);
  clock.advance(1_000);
  const slots = Array.from({ length: 3 }, () => limiter.acquire(limited));
  assert.equal(slots[2]?.headers['x-ratelimit-remaining-tokens'], '9000');
  assert.throws(() => limiter.acquire(limited), isRejected(59), 'the three use the rest');
  clock.advance(59_000);
  limiter.acquire(limited);
  assert.throws(() => limiter.acquire(limited), isRejected(1), 'four in flight use all, and their end is unknown');
});

test('the limiter remembers the mean of a scope while its requests take longer than a minute', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  const limited = key({ tpm: 1_000 });
  limiter.count(limited, 10);
  for (let n = 0; n < 50; n++) {
    limiter.acquire(limited);
    clock.advance(5_000);
  }
});

test('the limiter counts a slot until its first release', () => {
  const limiter = localLimiter(new FakeClock());
  const slot = limiter.acquire(key({ concurrency: 1 }));
  assert.throws(() => limiter.acquire(key({ concurrency: 1 })), isRejected(1));
  limiter.acquire(key({ concurrency: 1 }, 'other'));
  slot?.release();
  slot?.release();
  limiter.acquire(key({ concurrency: 1 }));
  assert.throws(() => limiter.acquire(key({ concurrency: 1 })), isRejected(1));
});

test('the limiter counts a request that takes longer than it remembers idle keys', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  limiter.acquire(key({ concurrency: 1 }));
  clock.advance(120_000);
  limiter.acquire(key({ concurrency: 1 }, 'other'));
  assert.throws(() => limiter.acquire(key({ concurrency: 1 })), isRejected(1, /Concurrency/));
});

test('the limiter returns no slot for a key without rate limits', () => {
  const limiter = localLimiter(new FakeClock());
  assert.equal(limiter.acquire({ id: 'k', userId: 'u' }), undefined);
  assert.equal(limiter.acquire(key({ spendDay: 1n })), undefined, 'spend limits are checked elsewhere');
});

test('the limiter applies user limits to all keys together, and a rejected request uses up nothing', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  const acquire = (id: string) => limiter.acquire({ id, userId: 'u', limits: { rpm: 5 }, userLimits: { rpm: 3 } });
  assert.equal(acquire('a')?.headers['x-ratelimit-remaining-requests'], '2', 'the user has less left than the key');
  acquire('a');
  acquire('b');
  for (let n = 0; n < 5; n++)
    assert.throws(() => acquire('b'), isRejected(60, /this user may use 3 requests per minute/));
  clock.advance(60_000);
  acquire('a');
  const other = limiter.acquire({ id: 'b', userId: 'other', limits: { rpm: 5 } });
  assert.equal(other?.headers['x-ratelimit-remaining-requests'], '4', 'rejected requests of b are not counted');
});

test('a rejection reports the remaining budget and the longest wait', () => {
  const limiter = localLimiter(new FakeClock());
  const who = { id: 'k', userId: 'u', limits: { rpm: 60 }, userLimits: { rpm: 1, concurrency: 1 } };
  limiter.acquire(who);
  assert.throws(
    () => limiter.acquire(who),
    (error: unknown) =>
      isRejected(60)(error) &&
      (error as ApiError).details.headers?.['x-ratelimit-limit-requests'] === '1' &&
      (error as ApiError).details.headers?.['x-ratelimit-remaining-requests'] === '0',
  );
});

test('a raised limit applies to the next request', () => {
  const limiter = localLimiter(new FakeClock());
  limiter.acquire(key({ concurrency: 9 }));
  limiter.acquire(key({ rpm: 1 }));
  assert.throws(() => limiter.acquire(key({ rpm: 1 })));
  assert.equal(limiter.acquire(key({ rpm: 100 }))?.headers['x-ratelimit-remaining-requests'], '98');
});

const listing = (userId = 'u', id = 'k', limits?: Limits) =>
  [
    { id, userId, ...(limits && { limits }) },
    { operation: 'tasks.list', rpm: 2 },
  ] as const;

test('the limiter counts an operation for all keys of a user, and for each user and operation alone', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  assert.deepEqual(limiter.acquire(...listing('u', 'one'))?.headers, {
    'x-ratelimit-limit-requests': '2',
    'x-ratelimit-remaining-requests': '1',
    'x-ratelimit-reset-requests': '60s',
  });
  limiter.acquire(...listing('u', 'two'));
  const message = /this user may use 2 requests per minute of this operation/;
  assert.throws(() => limiter.acquire(...listing('u', 'one')), isRejected(60, message));
  limiter.acquire(...listing('other'));
  limiter.acquire({ id: 'one', userId: 'u' }, { operation: 'tasks.get', rpm: 2 });
  clock.advance(60_000);
  limiter.acquire(...listing('u', 'two'));
  limiter.acquire(...listing('u', 'one'));
  assert.throws(() => limiter.acquire(...listing('u', 'one')), isRejected(60));
});

test('a request must fit the limit of its operation and of its key, and a rejected one uses up neither', () => {
  const limiter = localLimiter(new FakeClock());
  limiter.acquire(...listing('u', 'k', { rpm: 1 }));
  for (let n = 0; n < 5; n++)
    assert.throws(() => limiter.acquire(...listing('u', 'k', { rpm: 1 })), isRejected(60, /this key may use 1 /));
  assert.equal(limiter.acquire(...listing('u', 'other'))?.headers['x-ratelimit-remaining-requests'], '0');
  limiter.acquire({ id: 'other', userId: 'u' }, { operation: 'tasks.get', rpm: 1 });
  assert.throws(() => limiter.acquire(...listing('u', 'other')), isRejected(60), 'the operation is used up');
});

test('the limiter forgets operations without recent requests', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  for (let n = 0; n < 2; n++) limiter.acquire(...listing())?.release();
  clock.advance(120_000);
  assert.equal(limiter.acquire(...listing())?.headers['x-ratelimit-remaining-requests'], '1');
});

/** A Redis that admits everything and records what it was asked. */
function recordingRedis() {
  const asked: { keys: readonly string[]; args: readonly string[] }[] = [];
  const redis = {
    isUp: true,
    run: async (_script: unknown, keys: readonly string[], args: readonly string[]) => {
      asked.push({ keys, args });
      const use = { used: 1, waitMs: 0, resetMs: 60_000 };
      return JSON.stringify({ admitted: true, used: [{ requests: use, tokens: use, open: 0 }] });
    },
  };
  return { asked, redis: redis as unknown as Redis };
}

test('the Redis limiter counts an operation under the user and the operation, whatever the key', async () => {
  const { asked, redis } = recordingRedis();
  const limiter = new Limiter(new RedisLimits(redis, new LocalLimits(new FakeClock())));
  const slots = [await limiter.acquire(...listing('u', 'one')), await limiter.acquire(...listing('u', 'two'))];
  for (const { keys, args } of asked) {
    const names = ['requests', 'tokens', 'open'].map((what) => `dragoman:{u}:operation:u:tasks.list:${what}`);
    assert.deepEqual(keys, names);
    assert.deepEqual(args.slice(3), ['2', '2', '0', '0']);
  }
  assert.equal(asked.length, 2);
  assert.equal(slots[0]?.headers['x-ratelimit-limit-requests'], '2');
});

test('the Redis limiter counts an operation locally while Redis is down', async () => {
  const limiter = new Limiter(new RedisLimits({ isUp: false } as Redis, new LocalLimits(new FakeClock())));
  for (let n = 0; n < 2; n++) await limiter.acquire(...listing());
  assert.throws(() => limiter.acquire(...listing()), isRejected(60));
});

test('the limiter ignores a clock that is set back or forward', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  for (const step of [0, -3_600_000, 7_200_000]) {
    clock.set(clock.now() + step);
    limiter.acquire(key({ rpm: 3 }));
  }
  assert.throws(() => limiter.acquire(key({ rpm: 3 })), isRejected(60));
});

/** Pauses between requests: bursts, crowded seconds and quiet minutes. */
const pause = fc.oneof(
  { arbitrary: fc.constant(0), weight: 3 },
  { arbitrary: fc.integer({ min: 1, max: 300 }), weight: 3 },
  { arbitrary: fc.integer({ min: 300, max: 20_000 }), weight: 2 },
  { arbitrary: fc.integer({ min: 20_000, max: 90_000 }), weight: 1 },
);

/** The most units of any span that ends with one of the events. */
function mostWithin(spanMs: number, events: readonly { readonly at: number; readonly units: number }[]): number {
  const sums = events.map(({ at }) =>
    events.filter((one) => one.at > at - spanMs && one.at <= at).reduce((sum, { units }) => sum + units, 0),
  );
  return Math.max(0, ...sums);
}

test('no 60 s admit more than a limit of requests, no second more than its burst, and a retry at the given time succeeds', () => {
  const step = fc.record({ ms: pause, clockStep: fc.constantFrom(0, 0, 0, -90_000, 90_000), waits: fc.boolean() });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 2, max: 100 }),
      fc.array(step, { minLength: 50, maxLength: 300 }),
      (rpm, percent, steps) => {
        const clock = new FakeClock();
        const limiter = localLimiter(clock, percent);
        const admitted: { at: number; units: number }[] = [];
        const request = (): number => {
          try {
            limiter.acquire(key({ rpm }))?.release();
          } catch (error) {
            return (error as ApiError).details.retryAfter ?? assert.fail();
          }
          admitted.push({ at: clock.elapsed(), units: 1 });
          return 0;
        };
        for (const { ms, clockStep, waits } of steps) {
          clock.set(clock.now() + clockStep);
          clock.advance(ms);
          const retryAfter = request();
          if (retryAfter === 0 || !waits) continue;
          clock.advance(retryAfter * 1_000);
          assert.equal(request(), 0);
        }
        assert.ok(mostWithin(60_000, admitted) <= rpm);
        assert.ok(mostWithin(1_000, admitted) <= burstOf(rpm, percent));
      },
    ),
    { numRuns: runs(300) },
  );
});

test('a limit of requests is usable in full: after an idle minute all of it, and always at an even rate', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 2, max: 100 }), (rpm, percent) => {
      const clock = new FakeClock();
      const even = localLimiter(clock, percent);
      for (let n = 0; n < 2.5 * rpm; n++) {
        clock.advance(Math.floor(((n + 1) * 60_000) / rpm) - clock.elapsed());
        even.acquire(key({ rpm }));
      }
      const limiter = localLimiter(clock);
      for (let minute = 0; minute < 2; minute++) {
        for (let n = 0; n < rpm; n++) limiter.acquire(key({ rpm }));
        assert.throws(() => limiter.acquire(key({ rpm })), isRejected(60));
        clock.advance(60_000);
      }
    }),
    { numRuns: runs(60) },
  );
});

test('an even rate above ten requests a second loses less than 0.2 % of the limit', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock, 2);
  let admitted = 0;
  for (let n = 0; n < 5 * 6_000; n++) {
    clock.advance(10);
    try {
      limiter.acquire(key({ rpm: 6_000 }));
      admitted += 1;
    } catch {}
  }
  assert.ok(admitted >= 0.998 * 5 * 6_000, `${admitted}`);
});

test('no 60 s use more than a limit of tokens, while requests use as many as before and at first a tenth of the limit', () => {
  const step = fc.record({ ms: pause, ends: fc.nat({ max: 3 }) });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 10, max: 100 }),
      fc.array(step, { minLength: 50, maxLength: 300 }),
      (size, requests, steps) => {
        const clock = new FakeClock();
        const limiter = localLimiter(clock);
        const limited = key({ tpm: size * requests });
        const used: { at: number; units: number }[] = [];
        const open: Slot[] = [];
        for (const { ms, ends } of steps) {
          clock.advance(ms);
          try {
            open.push(limiter.acquire(limited) ?? assert.fail());
          } catch (error) {
            assert.ok(error instanceof ApiError);
          }
          for (const slot of open.splice(0, ends)) {
            limiter.count(limited, size);
            slot.release();
            used.push({ at: clock.elapsed(), units: size });
          }
        }
        assert.ok(mostWithin(60_000, used) <= size * requests);
      },
    ),
    { numRuns: runs(300) },
  );
});

test('requests one after the other exceed a limit of tokens by less than the last of them, and wait no longer than a minute', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2_000 }),
      fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 20, maxLength: 80 }),
      (tpm, sizes) => {
        const clock = new FakeClock();
        const limiter = localLimiter(clock);
        const used: { at: number; units: number }[] = [];
        for (const size of sizes) {
          try {
            limiter.acquire(key({ tpm }))?.release();
          } catch (error) {
            clock.advance(((error as ApiError).details.retryAfter ?? assert.fail()) * 1_000);
            limiter.acquire(key({ tpm }))?.release();
          }
          limiter.count(key({ tpm }), size);
          used.push({ at: clock.elapsed(), units: size });
          assert.ok(mostWithin(60_000, used) < tpm + Math.max(1, size) || mostWithin(60_000, used.slice(0, -1)) > tpm);
          clock.advance(700);
        }
      },
    ),
    { numRuns: runs(200) },
  );
});
