import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { ACCOUNT_QUEUE } from '../../rules/index.ts';
import { AccountQueue } from './account-queue.ts';
import { type AccountLease, Pool, type PooledAccount } from './pool.ts';

const ACCOUNT: PooledAccount = { id: 'a', groupId: 'g', weight: 1, priority: 0, maxConcurrency: 1 };

function openQueue(waitMs = 2_000) {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const queue = new AccountQueue({ clock, pool, waitMs });
  const started: string[] = [];
  const refused: string[] = [];
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
      refuse: () => void refused.push(name),
    });
  take();
  return { clock, queue, started, refused, add, free: () => lease?.release() };
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
  for (let n = 0; n < ACCOUNT_QUEUE.length; n++) add(`u${n}`);
  add('late');
  assert.deepEqual(refused, ['late']);
  clock.advance(1_999);
  assert.equal(refused.length, 1);
  clock.advance(1);
  assert.deepEqual([refused.length, queue.waiting('g')], [1 + ACCOUNT_QUEUE.length, 0]);
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
