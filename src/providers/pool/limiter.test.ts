import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { runs } from '../../../test/support/properties.ts';
import { ApiError, type Limits } from '../../core/index.ts';
import type { Redis } from '../../platform/redis/index.ts';
import { Limiter, type Slot } from './limiter.ts';
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
function localLimiter(clock: FakeClock) {
  const limiter = new Limiter(new LocalLimits(clock));
  return {
    acquire: (...request: Parameters<Limiter['acquire']>) => limiter.acquire(...request) as Slot | undefined,
    count: (...tokens: Parameters<Limiter['count']>) => limiter.count(...tokens),
  };
}
const key = (limits: Limits, id = 'k') => ({ id, userId: 'u', limits });

test('the limiter admits rpm requests per minute and refills the bucket evenly', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  for (let n = 0; n < 6; n++) limiter.acquire(key({ rpm: 6 }))?.release();
  assert.throws(() => limiter.acquire(key({ rpm: 6 })), isRejected(10));
  clock.advance(10_000);
  const slot = limiter.acquire(key({ rpm: 6 }));
  assert.deepEqual(slot?.headers, {
    'x-ratelimit-limit-requests': '6',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '60s',
  });
});

test('the limiter lets a burst overdraw the token bucket and rejects until it is refilled', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  limiter.acquire(key({ tpm: 600 }))?.release();
  limiter.count(key({ tpm: 600 }), 1_200);
  assert.throws(() => limiter.acquire(key({ tpm: 600 })), isRejected(61));
  clock.advance(61_000);
  limiter.acquire(key({ tpm: 600 }));
});

test('the limiter keeps an overdrawn token bucket when it removes idle keys', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  limiter.acquire(key({ tpm: 60 }))?.release();
  limiter.count(key({ tpm: 60 }), 6_000);
  for (let minute = 0; minute < 90; minute++) {
    clock.advance(60_000);
    limiter.acquire(key({ tpm: 60 }, `other-${minute}`))?.release();
  }
  assert.throws(() => limiter.acquire(key({ tpm: 60 })), isRejected(541));
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
    assert.throws(() => acquire('b'), isRejected(20, /this user may use 3 requests per minute/));
  clock.advance(20_000);
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
    'x-ratelimit-reset-requests': '30s',
  });
  limiter.acquire(...listing('u', 'two'));
  const message = /this user may use 2 requests per minute of this operation/;
  assert.throws(() => limiter.acquire(...listing('u', 'one')), isRejected(30, message));
  limiter.acquire(...listing('other'));
  limiter.acquire({ id: 'one', userId: 'u' }, { operation: 'tasks.get', rpm: 2 });
  clock.advance(30_000);
  limiter.acquire(...listing('u', 'two'));
  assert.throws(() => limiter.acquire(...listing('u', 'one')), isRejected(30));
});

test('a request must fit the limit of its operation and of its key, and a rejected one uses up neither', () => {
  const limiter = localLimiter(new FakeClock());
  limiter.acquire(...listing('u', 'k', { rpm: 1 }));
  for (let n = 0; n < 5; n++)
    assert.throws(() => limiter.acquire(...listing('u', 'k', { rpm: 1 })), isRejected(60, /this key may use 1 /));
  assert.equal(limiter.acquire(...listing('u', 'other'))?.headers['x-ratelimit-remaining-requests'], '0');
  limiter.acquire({ id: 'other', userId: 'u' }, { operation: 'tasks.get', rpm: 1 });
  assert.throws(() => limiter.acquire(...listing('u', 'other')), isRejected(30), 'the operation is used up');
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
      return [1, ...Array.from({ length: keys.length / 2 }, () => ['1', '0', '0']).flat()];
    },
  };
  return { asked, redis: redis as unknown as Redis };
}

test('the Redis limiter counts an operation under the user and the operation, whatever the key', async () => {
  const { asked, redis } = recordingRedis();
  const limiter = new Limiter(new RedisLimits(redis, new LocalLimits(new FakeClock())));
  const slots = [await limiter.acquire(...listing('u', 'one')), await limiter.acquire(...listing('u', 'two'))];
  for (const { keys, args } of asked) {
    assert.deepEqual(keys, ['dragoman:{u}:operation:u:tasks.list:rates', 'dragoman:{u}:operation:u:tasks.list:open']);
    assert.deepEqual(args.slice(2), ['2', '0', '0']);
  }
  assert.equal(asked.length, 2);
  assert.equal(slots[0]?.headers['x-ratelimit-limit-requests'], '2');
});

test('the Redis limiter counts an operation locally while Redis is down', async () => {
  const limiter = new Limiter(new RedisLimits({ isUp: false } as Redis, new LocalLimits(new FakeClock())));
  for (let n = 0; n < 2; n++) await limiter.acquire(...listing());
  assert.throws(() => limiter.acquire(...listing()), isRejected(30));
});

/** Usage in units of 1/60,000, so that every sum is exact. */
class ExactBucket {
  #used = 0n;
  readonly #perMinute: bigint;
  constructor(perMinute: number) {
    this.#perMinute = BigInt(perMinute);
  }
  pass(ms: number): void {
    this.#used -= BigInt(ms) * this.#perMinute;
    if (this.#used < 0n) this.#used = 0n;
  }
  get hasOne(): boolean {
    return this.#perMinute * 60_000n - this.#used >= 60_000n;
  }
  use(units: number): void {
    this.#used += BigInt(units) * 60_000n;
  }
}

test('the limiter admits exactly the requests that buckets with exact arithmetic admit', () => {
  const rate = fc.integer({ min: 1, max: 40 });
  const step = fc.oneof(
    fc.record({ what: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 90_000 }) }),
    fc.record({ what: fc.constant('enter' as const), who: fc.constantFrom('a', 'b') }),
    fc.record({
      what: fc.constant('count' as const),
      who: fc.constantFrom('a', 'b'),
      tokens: fc.integer({ min: 0, max: 60 }),
    }),
  );
  fc.assert(
    fc.property(rate, rate, rate, fc.array(step, { maxLength: 120 }), (rpm, userRpm, tpm, steps) => {
      const clock = new FakeClock();
      const limiter = localLimiter(clock);
      const who = (id: string) => ({ id, userId: 'u', limits: { rpm, tpm }, userLimits: { rpm: userRpm } });
      const buckets = {
        a: { requests: new ExactBucket(rpm), tokens: new ExactBucket(tpm) },
        b: { requests: new ExactBucket(rpm), tokens: new ExactBucket(tpm) },
      };
      const user = new ExactBucket(userRpm);
      for (const one of steps) {
        if (one.what === 'pass') {
          clock.advance(one.ms);
          for (const each of [user, buckets.a.requests, buckets.a.tokens, buckets.b.requests, buckets.b.tokens])
            each.pass(one.ms);
          continue;
        }
        const bucket = buckets[one.who as 'a' | 'b'];
        if (one.what === 'count') {
          limiter.count(who(one.who), one.tokens);
          bucket.tokens.use(one.tokens);
          continue;
        }
        const expected = bucket.requests.hasOne && bucket.tokens.hasOne && user.hasOne;
        let admitted = true;
        try {
          limiter.acquire(who(one.who))?.release();
        } catch {
          admitted = false;
        }
        assert.equal(admitted, expected);
        if (!expected) continue;
        bucket.requests.use(1);
        user.use(1);
      }
    }),
    { numRuns: runs(500) },
  );
});

test('the limiter ignores a clock that is set back', () => {
  const clock = new FakeClock();
  const limiter = localLimiter(clock);
  limiter.acquire(key({ rpm: 10 }));
  clock.advance(-3_600_000);
  assert.equal(limiter.acquire(key({ rpm: 10 }))?.headers['x-ratelimit-remaining-requests'], '8');
});
