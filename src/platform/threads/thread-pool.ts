/** Work on large bodies in threads, small ones at once. Users take turns, and so do the keys of a user. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type Clock, fail, type MaybePromise, StepBudget, Unavailable } from '../../core/index.ts';
import { THREADS } from '../../rules/index.ts';
import { FairQueue } from './fair-queue.ts';
import { type JobMessage, type JobReport, type JobResult, LARGE_BODY_BYTES, type ThreadJob } from './job.ts';

export interface Threads {
  /** Without a promise when the input is small. */
  run<I, O, M, R>(job: ThreadJob<I, O, M, R>, input: I, owner: JobOwner): MaybePromise<O>;
}

export interface JobOwner {
  readonly key: { readonly id: string; readonly userId: string };
  /** Size of the input. */
  readonly bytes: number;
  /** Of the request, for all of its jobs together. None where it has one job. */
  readonly steps?: StepBudget;
}

export interface ThreadPoolOptions {
  readonly clock: Clock;
  readonly threads?: number;
  readonly maxWaiting?: number;
  readonly maxWaitingOfUser?: number;
  readonly jobCpuMs?: number;
  readonly heapMb?: number;
  /** Replaces the thread in tests. */
  readonly script?: URL;
}

/** A larger input is copied in a turn of its own: 32 MiB take 15 ms. */
const COPIED_LATER_BYTES = 4 * 2 ** 20;

const SCRIPT = new URL('./thread.ts', import.meta.url);

interface WaitingJob {
  readonly key: JobOwner['key'];
  readonly steps: StepBudget;
  readonly job: ThreadJob<unknown, unknown>;
  readonly input: unknown;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface RunningJob extends WaitingJob {
  cancelCheck?: () => void;
  /** Why its thread is ended. */
  fault?: Error;
}

/**
 * So many for one of the processes that share the machine; the event loop keeps a core where there is more than one.
 */
export const threadCount = (processes = 1): number =>
  Math.min(THREADS.max, Math.max(1, Math.floor(availableParallelism() / processes) - 1));

/** One job at a time per thread. Threads start with the first job that needs them, and again after one has died. */
export class ThreadPool implements Threads {
  readonly #options: Required<ThreadPoolOptions>;
  readonly #waiting = new FairQueue<WaitingJob>();
  readonly #idle: Worker[] = [];
  readonly #running = new Map<Worker, RunningJob>();
  #isClosed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = { threads: 1, ...THREADS, script: SCRIPT, ...options };
  }

  run<I, O, M, R>(
    job: ThreadJob<I, O, M, R>,
    input: I,
    { key, bytes, steps = new StepBudget() }: JobOwner,
  ): MaybePromise<O> {
    if (bytes <= (job.inlineBytes ?? LARGE_BODY_BYTES)) return job.run(input, steps);
    const light = job.runLight?.(input, steps);
    if (light !== undefined) return light;
    if (this.#isClosed) throw fail('shutting_down');
    this.#checkRoom(key.userId);
    const { promise, resolve, reject } = Promise.withResolvers<O>();
    this.#waiting.push({ key, steps, job, input, resolve, reject } as unknown as WaitingJob);
    if (bytes > COPIED_LATER_BYTES) setImmediate(() => this.#assign());
    else this.#assign();
    return promise;
  }

  /** Fails what is waiting or running, and ends the threads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const waiting = this.#waiting.clear();
    const workers = [...this.#running.keys(), ...this.#idle.splice(0)];
    for (const worker of workers) this.#takeJob(worker)?.reject(fail('shutting_down'));
    for (const { reject } of waiting) reject(fail('shutting_down'));
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  #checkRoom(userId: string): void {
    const { maxWaiting, maxWaitingOfUser } = this.#options;
    if (this.#waiting.sizeOf(userId) >= maxWaitingOfUser)
      throw fail('rate_limit_exceeded', 'Too many large requests of this user are waiting; send fewer at a time.', {
        retryAfter: 1,
      });
    if (this.#waiting.size >= maxWaiting)
      throw fail('server_is_overloaded', 'Too many large requests are waiting; try again shortly.', { retryAfter: 1 });
  }

  #assign(): void {
    while (this.#waiting.size > 0 && this.#running.size < this.#options.threads) {
      const next = this.#waiting.take((userId) => this.#mayRun(userId));
      if (!next) return;
      this.#post(this.#idle.pop() ?? this.#start(), next);
    }
  }

  /** Where there are several threads, the jobs of one user leave one to others. */
  #mayRun(userId: string): boolean {
    const { threads } = this.#options;
    const running = [...this.#running.values()].filter(({ key }) => key.userId === userId).length;
    return running < Math.max(1, threads - 1);
  }

  #post(worker: Worker, next: WaitingJob): void {
    const { module, name } = next.job;
    const { max, taken } = next.steps;
    try {
      const { input, moved } = messageInput(next);
      this.#running.set(worker, { ...next });
      // Keeps the process alive only while it works.
      worker.ref();
      worker.postMessage({ module, name, input, steps: { max, taken } } satisfies JobMessage, moved);
    } catch (error) {
      // A bug in the messages of a job fails this job, not the process.
      this.#running.delete(worker);
      this.#idle.push(worker);
      next.reject(error as Error);
    }
  }

  #start(): Worker {
    const { script, heapMb, jobCpuMs } = this.#options;
    const worker = new Worker(script, {
      // The options of this process, such as those of a test runner, are not for threads.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: THREADS.youngHeapMb },
    });
    let cause: NodeJS.ErrnoException | undefined;
    worker.on('message', (report: JobReport) => {
      if ('begunAtMs' in report) return this.#checkLater(worker, report.begunAtMs, jobCpuMs);
      const job = this.#takeJob(worker);
      worker.unref();
      this.#idle.push(worker);
      if (job) settle(job, report);
      this.#assign();
    });
    worker.on('error', (error: Error) => {
      cause = error;
    });
    // Follows an error, too.
    worker.on('exit', () => {
      const index = this.#idle.indexOf(worker);
      if (index >= 0) this.#idle.splice(index, 1);
      const job = this.#takeJob(worker);
      job?.reject(job.fault ?? faultOf(cause, heapMb));
      this.#assign();
    });
    return worker;
  }

  /**
   * A thread takes no more CPU time than passes on the clock.
   * CPU time is the measure, so that a busy machine ends no job.
   */
  #checkLater(worker: Worker, begunAtMs: number, afterMs: number): void {
    const { clock, jobCpuMs } = this.#options;
    const job = this.#running.get(worker);
    if (!job) return;
    job.cancelCheck = clock.after(Math.max(1, afterMs), async () => {
      const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }));
      const usedMs = (user + system) / 1_000 - begunAtMs;
      if (this.#running.get(worker) !== job) return;
      if (usedMs < jobCpuMs) return this.#checkLater(worker, begunAtMs, jobCpuMs - usedMs);
      job.fault = tooComplex(`more than ${jobCpuMs / 1_000} s of CPU time`);
      await worker.terminate();
    });
  }

  #takeJob(worker: Worker): RunningJob | undefined {
    const job = this.#running.get(worker);
    job?.cancelCheck?.();
    this.#running.delete(worker);
    return job;
  }
}

const tooComplex = (what: string): Error =>
  fail('request_too_complex', `Reading the request takes ${what}; send fewer or smaller parts.`);

/**
 * Of a thread that died: its job took more memory than a job may,
 * or the machine failed, and the request may be sent again.
 */
const faultOf = (cause: NodeJS.ErrnoException | undefined, heapMb: number): Error =>
  cause?.code === 'ERR_WORKER_OUT_OF_MEMORY'
    ? tooComplex(`more than ${heapMb} MiB of memory`)
    : new Unavailable('a thread for large bodies ended', { cause });

function settle({ job, steps, resolve, reject }: WaitingJob, result: JobResult): void {
  if ('bug' in result) return reject(result.bug);
  if ('error' in result) {
    const { code, message, details } = result.error;
    return reject(fail(code as Parameters<typeof fail>[0], message, details));
  }
  try {
    steps.take(result.steps);
    resolve(job.fromReply ? job.fromReply(result.output) : result.output);
  } catch (error) {
    reject(error as Error);
  }
}

/**
 * The input of a message, and the memory that moves with it. Bytes are copied only now, so that what waits has no copy.
 */
function messageInput({ job, input: given }: WaitingJob): { input: unknown; moved: ArrayBuffer[] } {
  const input = job.toMessage ? job.toMessage(given) : given;
  const { bytes } = input as { bytes?: unknown };
  if (!(bytes instanceof Uint8Array)) return { input, moved: [] };
  const own = job.movesBytes ? owned(bytes) : new Uint8Array(bytes);
  return { input: { ...(input as object), bytes: own }, moved: [own.buffer] };
}

/** A view that owns its whole memory can be moved. Part of a larger buffer has to be copied. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(bytes);
}
