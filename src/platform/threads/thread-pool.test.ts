import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { until } from '../../../test/support/wait.ts';
import { ApiError, StepBudget, Unavailable } from '../../core/index.ts';
import type { ThreadJob } from './job.ts';
import { type JobOwner, ThreadPool, type ThreadPoolOptions, threadCount } from './thread-pool.ts';

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
const ownerOf = (userId: string, id = userId): JobOwner => ({ key: { id, userId }, bytes: 100 });
const ana = ownerOf('ana');
const ben = ownerOf('ben');

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
    assert.equal(pool.run(ECHO, input(), { ...ana, bytes: 10 }), 'inline');
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
    const run = (owner: JobOwner, name: string) =>
      Promise.resolve(pool.run(ECHO, input(name), owner)).then(() => order.push(name));
    await Promise.all([run(ana, 'a1'), run(ana, 'a2'), run(ana, 'a3'), run(ana, 'a4'), run(ben, 'b1'), run(ben, 'b2')]);
    assert.deepEqual(order, ['a1', 'a2', 'b1', 'a3', 'b2', 'a4']);
  });
});

test('keys of one user take turns too, and count as one user beside others', async () => {
  await withPool({}, async (pool) => {
    const order: unknown[] = [];
    const run = (owner: JobOwner, name: string) =>
      Promise.resolve(pool.run(ECHO, input(name), owner)).then(() => order.push(name));
    const [one, two] = [ownerOf('ana', 'one'), ownerOf('ana', 'two')];
    await Promise.all([run(one, 'a1'), run(one, 'a2'), run(one, 'a3'), run(two, 'A1'), run(two, 'A2'), run(ben, 'b1')]);
    assert.deepEqual(order, ['a1', 'a2', 'b1', 'A1', 'a3', 'A2']);
  });
});

test('the jobs of one user leave a thread to others', async () => {
  await withPool({ threads: 2 }, async (pool) => {
    const endless = [codeOf(() => pool.run(FOREVER, input(), ana)), codeOf(() => pool.run(FOREVER, input(), ana))];
    assert.equal(await pool.run(ECHO, input('b1'), ben), 'b1 100 true');
    await pool.close();
    assert.deepEqual(await Promise.all(endless), ['shutting_down', 'shutting_down']);
  });
});

test('a process has at least one thread, however many share the machine', () => {
  assert.ok(threadCount(1) >= 1);
  assert.equal(threadCount(10_000), 1);
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

test('all jobs of a request share its steps, in threads and at once', async () => {
  await withPool({}, async (pool) => {
    const code = 'export const job = { run: (input, steps) => { steps.take(40); return steps.taken; } };';
    const taking = jobOf(code, { run: (_, steps) => steps.take(40) });
    const owner = { ...ana, steps: new StepBudget(100) };
    assert.equal(await pool.run(taking, input(), owner), 40);
    assert.equal(await pool.run(taking, input(), { ...owner, bytes: 1 }), undefined);
    assert.equal(await codeOf(() => pool.run(taking, input(), owner)), 'request_too_complex');
    assert.equal(await pool.run(taking, input(), ana), 40, 'another request has its own');
  });
});

test('a bug, a missing module and a missing job fail their own job only', async () => {
  await withPool({}, async (pool) => {
    const missing = { ...ECHO, module: new URL('./missing.ts', import.meta.url).href };
    const codes = [BROKEN, missing, { ...ECHO, name: 'other' }].map((job) => codeOf(() => pool.run(job, input(), ana)));
    const next = pool.run(ECHO, input('next'), ana);
    const [broken, ...missed] = await Promise.all(codes);
    assert.equal(broken, 'Error: broken');
    assert.match(missed.join(), /missing\.ts.*exports no job other/s);
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
    assert.deepEqual(await Promise.all(codes), ['Error: broken', 'Error: broken']);
    assert.equal(await next, 'next 100 true');
  });
});

test('a job over its CPU time is the fault of its request, and its thread is replaced without losing other jobs', async () => {
  const clock = new FakeClock();
  await withPool({ clock, jobCpuMs: 50 }, async (pool) => {
    let code: string | undefined;
    const endless = codeOf(() => pool.run(FOREVER, input(), ana)).then((found) => {
      code = found;
    });
    const next = [pool.run(ECHO, input('a2'), ana), pool.run(ECHO, input('b1'), ben)];
    await until('the job to be ended', () => {
      clock.advance(50);
      return code;
    });
    await endless;
    assert.equal(code, 'request_too_complex');
    assert.deepEqual(await Promise.all(next), ['a2 100 true', 'b1 100 true']);
  });
});

test('the clock alone ends no job: a machine may be busy with other work', async () => {
  const clock = new FakeClock();
  const gate = new Int32Array(new SharedArrayBuffer(8));
  const waiting = jobOf(
    'export const job = { run: ({ gate }) => { Atomics.store(gate, 1, 1); Atomics.wait(gate, 0, 0); return "done"; } };',
  );
  await withPool({ clock, jobCpuMs: 3_600_000 }, async (pool) => {
    const pending = pool.run(waiting, { ...input(), gate } as Input, ana);
    await until('the job to run', () => Atomics.load(gate, 1) === 1);
    for (let n = 0; n < 20; n += 1) {
      clock.advance(3_600_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
    assert.equal(await pending, 'done');
  });
});

test('a thread that dies is the fault of the machine: its request may be sent again, and others go on', async () => {
  await withPool({}, async (pool) => {
    const dying = jobOf('export const job = { run: () => process.exit(3) };');
    const error = await Promise.resolve(pool.run(dying, input(), ana)).catch((reason: unknown) => reason);
    assert.ok(error instanceof Unavailable);
    assert.equal(await pool.run(ECHO, input('next'), ana), 'next 100 true');
  });
});

test('a job that fills the heap of its thread is the fault of its request', async () => {
  await withPool({ heapMb: 32 }, async (pool) => {
    const hungry = jobOf(
      'export const job = { run: () => { const kept = []; for (;;) kept.push(new Array(1e5).fill({})); } };',
    );
    assert.equal(await codeOf(() => pool.run(hungry, input(), ana)), 'request_too_complex');
    assert.equal(await pool.run(ECHO, input('next'), ana), 'next 100 true');
  });
});

test('too many waiting jobs are refused: those of one user with 429, those of all with 503', async () => {
  await withPool({ maxWaiting: 3, maxWaitingOfUser: 2 }, async (pool) => {
    const run = (owner: JobOwner) => codeOf(() => pool.run(FOREVER, input(), owner));
    const running = [run(ana), run(ana), run(ana)];
    assert.equal(await run(ana), 'rate_limit_exceeded');
    running.push(run(ben));
    assert.equal(await run(ben), 'server_is_overloaded');
    await pool.close();
    assert.deepEqual(new Set(await Promise.all(running)), new Set(['shutting_down']));
    assert.equal(await run(ana), 'shutting_down');
  });
});
