import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { repeat } from './repeat.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('repeat() waits one interval after the end of each run, also after a failure', async () => {
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const runs: PromiseWithResolvers<void>[] = [];
  const task = (): Promise<void> => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  };
  const repetition = repeat(task, { clock, intervalMs: 100, onError: (error) => errors.push(error) });
  clock.advance(99);
  assert.equal(runs.length, 0);
  clock.advance(1);
  assert.equal(runs.length, 1);
  clock.advance(1_000);
  assert.equal(runs.length, 1, 'runs do not overlap');
  runs[0]?.reject('failed');
  await settle();
  assert.deepEqual(errors, ['failed']);
  clock.advance(100);
  assert.equal(runs.length, 2);

  let isStopped = false;
  const stopping = repetition.stop().then(() => {
    isStopped = true;
  });
  await settle();
  assert.equal(isStopped, false, 'stop() waits for the running task');
  runs[1]?.resolve();
  await stopping;
  clock.advance(1_000);
  assert.equal(runs.length, 2);
});

test('repeat() rests while it is idle, until it is woken', async () => {
  const clock = new FakeClock();
  let [runs, isIdle] = [0, false];
  const task = async (): Promise<void> => {
    runs += 1;
    isIdle = true;
  };
  const repetition = repeat(task, { clock, intervalMs: 100, onError: () => {}, isIdle: () => isIdle });
  clock.advance(100);
  await settle();
  clock.advance(10_000);
  assert.equal(runs, 1, 'it rests');
  repetition.wake();
  clock.advance(10_000);
  assert.equal(runs, 1, 'nothing to do yet');
  isIdle = false;
  repetition.wake();
  repetition.wake();
  clock.advance(100);
  assert.equal(runs, 2);
  await repetition.stop();
  isIdle = false;
  repetition.wake();
  clock.advance(10_000);
  assert.equal(runs, 2, 'it has stopped');
});
