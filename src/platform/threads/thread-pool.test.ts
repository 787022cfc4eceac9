import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { ApiError } from '../../core/index.ts';
import type { ThreadJob } from './job.ts';
import { ThreadPool, type ThreadPoolOptions } from './thread-pool.ts';

interface Input {
  readonly bytes: Uint8Array;
  readonly name: string;
}

/** A job whose module is the given code; at once it returns the word "inline". */
const jobOf = (code: string, more: Partial<ThreadJob<Input, unknown>> = {}): ThreadJob<Input, unknown> => ({
  module: `data:text/javascript,${encodeURIComponent(code)}`,
  name: 'job',
  inlineBytes: 10,
  run: () => 'inline',
  ...more,
});
const ECHO = jobOf(
  'export const job = { run: ({ bytes, name }) => [name, bytes.length, Buffer.isBuffer(bytes)].join(" ") };',
);
const FOREVER = jobOf('export const job = { run: () => { for (;;); } };');
const BROKEN = jobOf('export const job = { run: () => { throw new Error("broken"); } };');

const input = (name = 'a', size = 100): Input => ({ name, bytes: new Uint8Array(size) });
const ana = { id: 'ana', bytes: 100 };
const ben = { id: 'ben', bytes: 100 };

/** On a clock that stands still, so that a slow machine ends no job. */
async function withPool(options: Partial<ThreadPoolOptions>, work: (pool: ThreadPool) => Promise<void>): Promise<void> {
  const pool = new ThreadPool({ clock: new FakeClock(), ...options });
  try {
    await work(pool);
  } finally {
    await pool.close();
  }
}
const codeOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
    return 'none';
  } catch (error) {
    return error instanceof ApiError ? error.code : String(error);
  }
};

test('small input is worked on at once, large input in a thread that gets a copy of its bytes', async () => {
  await withPool({}, async (pool) => {
    assert.equal(pool.run(ECHO, input(), { id: 'ana', bytes: 10 }), 'inline');
    const large = input();
    const pending = pool.run(ECHO, large, ana);
    assert.ok(pending instanceof Promise);
    assert.equal(await pending, 'a 100 true');
    assert.equal(large.bytes.length, 100);
  });
});

test('the bytes of a job that moves them are empty afterwards, unless they are part of a larger buffer', async () => {
  await withPool({}, async (pool) => {
    const moving = { ...ECHO, movesBytes: true };
    const [whole, part] = [input(), { name: 'p', bytes: Buffer.alloc(200).subarray(100) }];
    assert.deepEqual(await Promise.all([pool.run(moving, whole, ana), pool.run(moving, part, ana)]), [
      'a 100 true',
      'p 100 true',
    ]);
    assert.deepEqual([whole.bytes.length, part.bytes.length], [0, 100]);
  });
});

test('owners take turns, however many jobs one of them has', async () => {
  await withPool({}, async (pool) => {
    const order: unknown[] = [];
    const run = (owner: typeof ana, name: string) =>
      Promise.resolve(pool.run(ECHO, input(name), owner)).then(() => order.push(name));
    await Promise.all([run(ana, 'a1'), run(ana, 'a2'), run(ana, 'a3'), run(ana, 'a4'), run(ben, 'b1'), run(ben, 'b2')]);
    assert.deepEqual(order, ['a1', 'a2', 'b1', 'a3', 'b2', 'a4']);
  });
});

test('an error for the client comes back as it is', async () => {
  const core = JSON.stringify(new URL('../../core/index.ts', import.meta.url).href);
  const module = `import { fail } from ${core}; export const job = { run: () => { throw fail('invalid_value', 'x: wrong', { param: 'x' }); } };`;
  await withPool({}, async (pool) => {
    await assert.rejects(
      async () => pool.run(jobOf(module), input(), ana),
      (error) =>
        error instanceof ApiError &&
        error.code === 'invalid_value' &&
        error.message === 'x: wrong' &&
        error.details.param === 'x',
    );
    assert.equal(await pool.run(ECHO, input('next'), ana), 'next 100 true');
  });
});

test('a bug, a missing module and a missing job fail their own job only', async () => {
  await withPool({}, async (pool) => {
    const missing = { ...ECHO, module: new URL('./missing.ts', import.meta.url).href };
    const codes = [BROKEN, missing, { ...ECHO, name: 'other' }].map((job) => codeOf(() => pool.run(job, input(), ana)));
    const next = pool.run(ECHO, input('next'), ana);
    assert.deepEqual(await Promise.all(codes), ['internal_error', 'internal_error', 'internal_error']);
    assert.equal(await next, 'next 100 true');
  });
});

test('a bug in the messages of a job fails this job only', async () => {
  await withPool({}, async (pool) => {
    const broken = (): never => {
      throw new Error('broken');
    };
    const jobs = [
      { ...ECHO, toMessage: broken },
      { ...ECHO, fromReply: broken },
    ];
    const codes = jobs.map((job) => codeOf(() => pool.run(job, input(), ana)));
    const next = pool.run(ECHO, input('next'), ana);
    assert.deepEqual(await Promise.all(codes), ['internal_error', 'internal_error']);
    assert.equal(await next, 'next 100 true');
  });
});

test('a job that never ends is ended, and the next one runs', async () => {
  const clock = new FakeClock();
  await withPool({ clock, jobMs: 5_000 }, async (pool) => {
    const endless = codeOf(() => pool.run(FOREVER, input(), ana));
    const next = pool.run(ECHO, input('next'), ben);
    clock.advance(5_000);
    assert.equal(await endless, 'internal_error');
    assert.equal(await next, 'next 100 true');
  });
});

test('too many waiting jobs are refused: those of one owner with 429, those of all with 503', async () => {
  await withPool({ maxWaiting: 3, maxWaitingOfOwner: 2 }, async (pool) => {
    const run = (owner: typeof ana) => codeOf(() => pool.run(FOREVER, input(), owner));
    const running = [run(ana), run(ana), run(ana)];
    assert.equal(await run(ana), 'rate_limit_exceeded');
    running.push(run(ben));
    assert.equal(await run(ben), 'server_is_overloaded');
    await pool.close();
    assert.deepEqual(new Set(await Promise.all(running)), new Set(['shutting_down']));
    assert.equal(await run(ana), 'shutting_down');
  });
});
