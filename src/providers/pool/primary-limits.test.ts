import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { ApiError, type LimitedKey } from '../../core/index.ts';
import { Link } from '../../platform/cluster/index.ts';
import { Limiter } from './limiter.ts';
import { LIMIT_SERVICES, LimitBook, PrimaryLimits, type TakeQuestion, type TokenNotice } from './primary-limits.ts';

/** A worker with its link to the book. */
function worker(book: LimitBook, clock: FakeClock): { limiter: Limiter; page: ReturnType<LimitBook['openPage']> } {
  const page = book.openPage();
  const primary: Link = new Link({
    clock,
    send: (message) => own.receive(structuredClone(message)),
    services: {
      [LIMIT_SERVICES.take]: (question) => page.take(question as TakeQuestion),
      [LIMIT_SERVICES.release]: (id) => page.release(id as number),
      [LIMIT_SERVICES.count]: (notice) => page.count(notice as TokenNotice),
    },
  });
  const own: Link = new Link({
    clock,
    services: {},
    send: (message) => primary.receive(JSON.parse(JSON.stringify(message))),
  });
  return { limiter: new Limiter(new PrimaryLimits(own)), page };
}

const key = (limits: LimitedKey['limits']): LimitedKey => ({ id: 'k', userId: 'u', limits });
const isRejected = (error: unknown): boolean => error instanceof ApiError && error.code === 'rate_limit_exceeded';

test('two workers admit as many requests as one, with exact headers', async () => {
  const clock = new FakeClock();
  const book = new LimitBook(clock);
  const [one, two] = [worker(book, clock), worker(book, clock)];
  const limited = key({ rpm: 3, spendDay: 5n });
  assert.equal((await one.limiter.acquire(limited))?.headers['x-ratelimit-remaining-requests'], '2');
  assert.equal((await two.limiter.acquire(limited))?.headers['x-ratelimit-remaining-requests'], '1');
  await one.limiter.acquire(limited);
  await assert.rejects(async () => two.limiter.acquire(limited), isRejected);
  clock.advance(60_000);
  for (const { limiter } of [two, one, two]) await limiter.acquire(limited);
  await assert.rejects(async () => one.limiter.acquire(limited), isRejected);
  assert.equal(one.limiter.acquire(key({ spendDay: 5n })), undefined, 'without rates the primary is not asked');
});

test('tokens that one worker counts limit the other', async () => {
  const clock = new FakeClock();
  const book = new LimitBook(clock);
  const [one, two] = [worker(book, clock), worker(book, clock)];
  one.limiter.count(key({ tpm: 100 }), 100);
  await turn();
  await assert.rejects(async () => two.limiter.acquire(key({ tpm: 100 })), isRejected);
});

test('open requests count over all workers until they are released or their worker ends', async () => {
  const clock = new FakeClock();
  const book = new LimitBook(clock);
  const [one, two] = [worker(book, clock), worker(book, clock)];
  const limited = key({ concurrency: 2 });
  const slot = await one.limiter.acquire(limited);
  await one.limiter.acquire(limited);
  await assert.rejects(async () => two.limiter.acquire(limited), isRejected);
  slot?.release();
  slot?.release();
  await turn();
  await two.limiter.acquire(limited);
  await assert.rejects(async () => two.limiter.acquire(limited), isRejected);
  one.page.close();
  await two.limiter.acquire(limited);
  await assert.rejects(async () => two.limiter.acquire(limited), isRejected);
});
