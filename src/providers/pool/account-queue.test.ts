import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { ACCOUNT_QUEUE } from '../../rules/index.ts';
import { AccountQueue } from './account-queue.ts';
import { type AccountLease, Pool, type PooledAccount } from './pool.ts';

const LENGTH = 50;
const ACCOUNT: PooledAccount = { id: 'a', groupId: 'g', weight: 1, priority: 0, maxConcurrency: 1 };

function openQueue(waitMs = 2_000) {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const queue = new AccountQueue({ clock, pool, waitMs, length: LENGTH });
  const started: string[] = [];
  const refused: string[] = [];
  const retries: number[] = [];
  let lease: AccountLease<PooledAccount> | undefined;
  const take = (): boolean => {
    const next = pool.lease([ACCOUNT]);
    if (!('account' in next)) return false;
    lease = next;
    return true;
  };
  const add = (name: string, userId = name.charAt(0)) =>
    queue.add({
      groupId: 'g',
      userId,
      needs: 'a',
      start: () => take() && started.push(name) > 0,
      refuse: (retryMs) => {
        refused.push(name);
        retries.push(retryMs);
      },
    });
  take();
  return { clock, queue, started, refused, retries, add, free: () => lease?.release() };
}

test('the queue starts waiting calls when a slot becomes free, and users take turns', () => {
  const { queue, started, add, free } = openQueue();
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) add(name);
  for (let n = 0; n < 5; n++) free();
  assert.deepEqual(started, ['a1', 'b1', 'c1', 'a2', 'a3']);
  assert.equal(queue.waiting('g'), 0);
});

test('the queue refuses a call whose time is over, and one that finds it full', () => {
  const { clock, refused, add, queue } = openQueue();
  for (let n = 0; n < LENGTH; n++) add(`u${n}`, `u${n}`);
  add('late');
  assert.deepEqual(refused, ['late']);
  clock.advance(1_999);
  assert.equal(refused.length, 1);
  clock.advance(1);
  assert.deepEqual([refused.length, queue.waiting('g')], [1 + LENGTH, 0]);
});

test('a call that leaves the queue is neither started nor refused', () => {
  const { clock, started, refused, add, free } = openQueue();
  const leave = add('a1');
  add('b1');
  leave();
  free();
  clock.advance(5_000);
  assert.deepEqual([started, refused], [['b1'], []]);
});

test('without a time to wait, the queue refuses at once', () => {
  const { refused, add } = openQueue(0);
  add('a1');
  assert.deepEqual(refused, ['a1']);
});

test('a full queue refuses the last call of the user with the most, not one of a user with few', () => {
  const { refused, started, add, queue, free } = openQueue();
  for (let n = 0; n < LENGTH; n++) add(`many${n}`, 'many');
  add('few', 'few');
  add('one-more', 'many');
  assert.deepEqual(refused, [`many${LENGTH - 1}`, 'one-more']);
  assert.equal(queue.waiting('g'), LENGTH);
  free();
  free();
  assert.deepEqual(started, ['many0', 'few']);
});

test('a refusal says when room is expected, by the rate at which calls have ended and the calls that wait', () => {
  const { clock, refused, retries, add, free } = openQueue(10_000);
  for (let n = 0; n < 9; n++) add(`a${n}`);
  // One call ends every two seconds.
  for (let n = 0; n < 4; n++) {
    clock.advance(2_000);
    free();
  }
  clock.advance(2_000);
  assert.equal(refused.length, 5);
  assert.ok(
    retries.every((ms) => ms >= 2_000 && ms <= 15_000),
    String(retries),
  );
  assert.ok((retries[0] ?? 0) > (retries.at(-1) ?? 0), 'those that wait no longer leave room');
});

test('without a call that has ended, a refusal names the longest wait, and never less than a second', () => {
  const idle = openQueue(5_000);
  idle.add('a1');
  idle.clock.advance(5_000);
  assert.deepEqual(idle.retries, [5_000]);
  const off = openQueue(0);
  off.add('a1');
  assert.deepEqual(off.retries, [ACCOUNT_QUEUE.retryMs.min]);
});

test('once accounts have been full for long, a call that would wait in vain is refused at once, and one of a user with few waits', () => {
  const { clock, refused, retries, started, add, free } = openQueue(ACCOUNT_QUEUE.waitMs);
  for (let n = 0; n < 20; n += 1) add(`a${n}`);
  assert.deepEqual(refused, [], 'nothing is known of how fast calls end');
  // One call ends every two seconds, and another one comes.
  for (let n = 0; n < 11; n += 1) {
    clock.advance(2_000);
    free();
    add(`later-${n}`, 'a');
  }
  assert.deepEqual(refused, ['later-9']);
  assert.ok((retries[0] ?? 0) > ACCOUNT_QUEUE.waitMs, String(retries));
  add('b');
  free();
  free();
  assert.ok(started.includes('b'), String(started));
});

test('1,500 calls of two seconds at an account with 200 slots are all served within the wait by default', () => {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const queue = new AccountQueue({ clock, pool, waitMs: ACCOUNT_QUEUE.waitMs });
  const account = { ...ACCOUNT, maxConcurrency: 200 };
  const counts = { started: 0, refused: 0 };
  for (let n = 0; n < 1_500; n += 1)
    queue.add({
      groupId: 'g',
      userId: `user${n % 7}`,
      needs: 'a',
      start: () => {
        const lease = pool.lease([account]);
        if (!('account' in lease)) return false;
        counts.started += 1;
        clock.after(2_000, () => lease.release());
        return true;
      },
      refuse: () => {
        counts.refused += 1;
      },
    });
  assert.deepEqual([counts.started, queue.waiting('g')], [200, 1_300]);
  for (let seconds = 0; seconds < 20; seconds += 1) clock.advance(1_000);
  assert.deepEqual([counts, queue.waiting('g')], [{ started: 1_500, refused: 0 }, 0]);
});
