import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { createLog } from '../../core/index.ts';
import type { Job } from '../../platform/db/index.ts';
import { startJobs } from './runner.ts';

interface Line {
  readonly msg: string;
  readonly failures?: number;
  readonly detail?: string;
}

function start(...jobs: Job[]) {
  const clock = new FakeClock();
  const lines: Line[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line)) });
  const worker = startJobs(jobs, { clock, log });
  /** Advances the clock, then waits until due jobs have run. */
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    for (let n = 0; n < 5; n += 1) await turn();
  };
  return { clock, lines, worker, pass };
}

/** A job that counts its runs and finds nothing to do. Each run waits for `until`. */
function counting(name: string, everyMs: number, until: Promise<number> = Promise.resolve(0)) {
  const job = {
    name,
    everyMs,
    runs: 0,
    run(): Promise<number> {
      job.runs += 1;
      return until;
    },
  };
  return job;
}

test('runner starts a job at once, then at its interval', async () => {
  const [fast, slow] = [counting('fast', 100), counting('slow', 250)];
  const { pass, worker } = start(fast, slow);
  await pass(0);
  assert.deepEqual([fast.runs, slow.runs], [1, 1]);
  for (let n = 0; n < 10; n += 1) await pass(50);
  assert.deepEqual([fast.runs, slow.runs], [6, 3]);
  await worker.stop();
});

test('runner repeats a job at once while it processes items', async () => {
  let left = 3;
  const { pass, lines, worker } = start({ name: 'work', everyMs: 60_000, run: async () => (left > 0 ? left-- : 0) });
  for (let n = 0; n < 4; n += 1) await pass(0);
  assert.equal(left, 0);
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['job.done', 'job.done', 'job.done'],
  );
  await worker.stop();
});

test('runner backs off exponentially up to a minute while a job fails, and resets after a success', async () => {
  let isBroken = true;
  let runs = 0;
  const { pass, lines, worker } = start({
    name: 'broken',
    everyMs: 1_000,
    run: async () => {
      runs += 1;
      if (isBroken) throw new Error('the database is down');
      return 0;
    },
  });
  await pass(0);
  for (const wait of [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
    const before = runs;
    await pass(wait - 1);
    assert.equal(runs, before, `not before ${wait} ms`);
    await pass(1);
    assert.equal(runs, before + 1, `after ${wait} ms`);
  }
  assert.deepEqual(lines[0], { ...lines[0], msg: 'job.failed', failures: 1, detail: 'the database is down' });
  isBroken = false;
  await pass(60_000);
  const recovered = runs;
  await pass(1_000);
  assert.equal(runs, recovered + 1, 'back at its interval');
  await worker.stop();
});

test('runner never overlaps runs of a job, and a failing job does not delay the others', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const [slow, other] = [counting('slow', 10, promise), counting('other', 10)];
  const broken = { name: 'broken', everyMs: 10, run: async () => Promise.reject(new Error('no')) };
  const { pass, worker } = start(slow, broken, other);
  await pass(0);
  for (let n = 0; n < 5; n += 1) await pass(10);
  assert.deepEqual([slow.runs, other.runs], [1, 6]);
  resolve(0);
  await worker.stop();
});

test('stop waits for the running job and starts no other', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const slow = counting('slow', 10, promise);
  const { pass, worker } = start(slow);
  await pass(0);
  let isStopped = false;
  const stopping = worker.stop().then(() => {
    isStopped = true;
  });
  await pass(10);
  assert.equal(isStopped, false);
  resolve(1);
  await stopping;
  await pass(100_000);
  assert.equal(slow.runs, 1);
});

test('runner treats a synchronous throw as a failed run', async () => {
  const { pass, lines, worker } = start({
    name: 'throws',
    everyMs: 10,
    run: () => {
      throw new Error('at once');
    },
  });
  await pass(0);
  assert.equal(lines[0]?.msg, 'job.failed');
  await worker.stop();
});
