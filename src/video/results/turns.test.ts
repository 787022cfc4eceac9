import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { RESULT_READS } from '../../rules/index.ts';
import { ResultTurns } from './turns.ts';

const { connections, waitMs } = RESULT_READS;
const never = (): void => {};

test('readers of one result take turns in order, and another result does not wait', async () => {
  const turns = new ResultTurns(new FakeClock());
  const ends = await Promise.all(Array.from({ length: connections }, () => turns.take('one', never)));
  const served: number[] = [];
  const waiting = [1, 2].map(async (n) => {
    const end = await turns.take('one', never);
    served.push(n);
    return end;
  });
  (await turns.take('two', never))();
  assert.deepEqual(served, []);
  ends[0]?.();
  // A turn ends once, whatever is called again.
  ends[0]?.();
  const end = await waiting[0];
  assert.deepEqual(served, [1]);
  end?.();
  await waiting[1];
  assert.deepEqual(served, [1, 2]);
});

test('a reader whose turn does not come in time gets 503 with the time of the next attempt', async () => {
  const clock = new FakeClock();
  const turns = new ResultTurns(clock);
  const ends = await Promise.all(Array.from({ length: connections }, () => turns.take('one', never)));
  const late = turns.take('one', never);
  clock.advance(waitMs);
  await assert.rejects(late, { code: 'server_is_overloaded', details: { retryAfter: RESULT_READS.retryAfterSeconds } });
  for (const end of ends) end();
  // All turns are free again.
  await Promise.all(Array.from({ length: connections }, () => turns.take('one', never)));
});

test('a reader that disconnects leaves the queue, and its turn goes to the next', async () => {
  const turns = new ResultTurns(new FakeClock());
  const [end] = await Promise.all(Array.from({ length: connections }, () => turns.take('one', never)));
  let leave = never;
  const gone = turns.take('one', (cancel) => {
    leave = cancel;
  });
  const next = turns.take('one', never);
  leave();
  await assert.rejects(gone);
  end?.();
  await next;
});
