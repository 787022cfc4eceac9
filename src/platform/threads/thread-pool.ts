/**
 * Work on large bodies off the event loop: small ones at once, large ones in a thread, with a queue for each owner. Owners take turns, so that
 * the large requests of one key do not delay those of another.
 */
import { Worker } from 'node:worker_threads';
import { type Clock, fail, type MaybePromise } from '../../core/index.ts';
import type { JobMessage, JobResult, ThreadJob } from './job.ts';

export interface Threads {
  /** Without a promise when the input is small. `bytes`: its size. */
  run<I, O, M, R>(job: ThreadJob<I, O, M, R>, input: I, owner: JobOwner): MaybePromise<O>;
}

export interface JobOwner {
  /** An API key. */
  readonly id: string;
  /** Size of the input. */
  readonly bytes: number;
}

export interface ThreadPoolOptions {
  readonly clock: Clock;
  readonly threads?: number;
  /**
   * Jobs that may wait, in all and of one owner. Most take a few milliseconds, the worst 0.3 s; the memory of large bodies has a limit of its
   * own, so that these hold 128 MB at most.
   */
  readonly maxWaiting?: number;
  readonly maxWaitingOfOwner?: number;
  /** A job that takes longer never ends. */
  readonly jobMs?: number;
  /** Replaces the thread in tests. */
  readonly script?: URL;
}

const SCRIPT = new URL('./thread.ts', import.meta.url);
/** A body of 32 MiB needs a tenth of this. The thread of a body that needs more ends, and the process goes on. */
const HEAP_MB = 512;
/** Most of what a job allocates is garbage at its end. */
const YOUNG_HEAP_MB = 32;

interface WaitingJob {
  readonly owner: string;
  readonly job: ThreadJob<unknown, unknown>;
  readonly input: unknown;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface RunningJob extends WaitingJob {
  readonly cancelTimer: () => void;
}

/** One job at a time per thread. Threads start with the first job that needs them, and again after one has died. */
export class ThreadPool implements Threads {
  readonly #options: Required<ThreadPoolOptions>;
  /** By owner, in the order of their turns. */
  readonly #waiting = new Map<string, WaitingJob[]>();
  #waitingJobs = 0;
  readonly #idle: Worker[] = [];
  readonly #running = new Map<Worker, RunningJob>();
  #isClosed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = {
      threads: 1,
      maxWaiting: 512,
      maxWaitingOfOwner: 128,
      jobMs: 30_000,
      script: SCRIPT,
      ...options,
    };
  }

  run<I, O, M, R>(job: ThreadJob<I, O, M, R>, input: I, { id, bytes }: JobOwner): MaybePromise<O> {
    if (bytes <= job.inlineBytes) return job.run(input);
    const light = job.runLight?.(input);
    if (light !== undefined) return light;
    if (this.#isClosed) throw fail('shutting_down');
    this.#checkRoom(id);
    const { promise, resolve, reject } = Promise.withResolvers<O>();
    const waiting = { owner: id, job, input, resolve, reject } as unknown as WaitingJob;
    this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), waiting]);
    this.#waitingJobs += 1;
    this.#assign();
    return promise;
  }

  /** Fails what is waiting or running, and ends the threads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const waiting = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#waitingJobs = 0;
    const workers = [...this.#running.keys(), ...this.#idle.splice(0)];
    for (const worker of workers) this.#takeJob(worker)?.reject(fail('shutting_down'));
    for (const { reject } of waiting) reject(fail('shutting_down'));
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  #checkRoom(owner: string): void {
    const { maxWaiting, maxWaitingOfOwner } = this.#options;
    if ((this.#waiting.get(owner)?.length ?? 0) >= maxWaitingOfOwner)
      throw fail('rate_limit_exceeded', 'Too many large requests of this API key are waiting; send fewer at a time.', {
        retryAfter: 1,
      });
    if (this.#waitingJobs >= maxWaiting)
      throw fail('server_is_overloaded', 'Too many large requests are waiting; try again shortly.', { retryAfter: 1 });
  }

  #assign(): void {
    while (this.#waitingJobs > 0) {
      const worker = this.#idle.pop() ?? this.#start();
      const next = worker && this.#next();
      if (!worker || !next) return;
      this.#post(worker, next);
    }
  }

  /** The first job of the owner whose turn it is. */
  #next(): WaitingJob | undefined {
    const [turn] = this.#waiting;
    if (!turn) return undefined;
    const [owner, [first, ...rest]] = turn;
    this.#waiting.delete(owner);
    if (rest.length > 0) this.#waiting.set(owner, rest);
    this.#waitingJobs -= 1;
    return first;
  }

  #post(worker: Worker, next: WaitingJob): void {
    const { clock, jobMs } = this.#options;
    const { module, name } = next.job;
    const message = attempt(() => messageInput(next));
    if ('error' in message) {
      this.#idle.push(worker);
      next.reject(message.error);
      return;
    }
    const { input, moved } = message.value;
    const cancelTimer = clock.after(jobMs, () => void worker.terminate());
    this.#running.set(worker, { ...next, cancelTimer });
    // Keeps the process alive only while it works.
    worker.ref();
    worker.postMessage({ module, name, input } satisfies JobMessage, moved);
  }

  /** Undefined when all threads are at work. */
  #start(): Worker | undefined {
    const { threads, script } = this.#options;
    if (this.#running.size >= threads) return undefined;
    const worker = new Worker(script, {
      // The options of this process, such as those of a test runner, are not for threads.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
    });
    let cause: unknown;
    worker.on('message', (result: JobResult) => {
      const job = this.#takeJob(worker);
      worker.unref();
      this.#idle.push(worker);
      if (job) settle(job, result);
      this.#assign();
    });
    worker.on('error', (error) => {
      cause = error;
    });
    // Follows an error, too.
    worker.on('exit', () => {
      const index = this.#idle.indexOf(worker);
      if (index >= 0) this.#idle.splice(index, 1);
      this.#takeJob(worker)?.reject(fail('internal_error', undefined, { cause }));
      this.#assign();
    });
    return worker;
  }

  #takeJob(worker: Worker): RunningJob | undefined {
    const job = this.#running.get(worker);
    job?.cancelTimer();
    this.#running.delete(worker);
    return job;
  }
}

function settle({ job, resolve, reject }: WaitingJob, result: JobResult): void {
  if ('output' in result) {
    const output = attempt(() => (job.fromReply ? job.fromReply(result.output) : result.output));
    return 'error' in output ? reject(output.error) : resolve(output.value);
  }
  const { code, message, details } = result.error;
  reject(fail(code as Parameters<typeof fail>[0], message, details));
}

/** A bug in the messages of a job fails this job, not the process. */
function attempt<T>(work: () => T): { readonly value: T } | { readonly error: Error } {
  try {
    return { value: work() };
  } catch (cause) {
    return { error: fail('internal_error', undefined, { cause }) };
  }
}

/** The input of a message, and the memory that moves with it. Bytes are copied only now, so that what waits has no copy. */
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
