/**
 * Examination of task bodies off the event loop: small bodies at once, large ones in worker threads. The memory of a large body is
 * moved to the worker and back, never copied.
 */
import { Worker } from 'node:worker_threads';
import { type ApiError, fail, type MaybePromise } from '../../core/index.ts';
import { examineTaskBody } from './examine.ts';
import type { Examination, TaskEntry, TaskTarget } from './task-request.ts';

export interface Examiner {
  /** A body above the limit is detached from the caller: `bytes` is empty afterwards. */
  examine(bytes: Uint8Array, entry: TaskEntry, target: TaskTarget | undefined): MaybePromise<Examination>;
  /** Fails what is waiting or running, and ends the workers. */
  close(): Promise<void>;
}

export interface ExaminerOptions {
  readonly workers?: number;
  /** Bodies up to this size take less than 10 ms and are examined at once. */
  readonly inlineBytes?: number;
  /** Large bodies that may wait. One takes about 0.3 s, so that the last one waits about 5 s; all together hold at most 1 GB. */
  readonly maxWaiting?: number;
  /** Replaces the worker in tests. */
  readonly script?: URL;
}

/** The message to a worker. */
export interface ExamineJob {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly entry: TaskEntry;
  readonly target: TaskTarget | undefined;
}

const MIB = 2 ** 20;
const SCRIPT = new URL('./examine-worker.ts', import.meta.url);

export function createExaminer(options: ExaminerOptions = {}): Examiner {
  const { workers = 1, inlineBytes = MIB, maxWaiting = 16, script = SCRIPT } = options;
  const pool = new WorkerPool({ workers, maxWaiting, script });
  return {
    examine: (bytes, entry, target) =>
      bytes.byteLength <= inlineBytes
        ? examineTaskBody(bytes, entry, target)
        : pool.run({ bytes: owned(bytes), entry, target }),
    close: () => pool.close(),
  };
}

/** A view that owns its whole memory can be transferred. Part of a larger buffer has to be copied. */
function owned(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(bytes);
}

interface WaitingJob {
  readonly job: ExamineJob;
  readonly resolve: (examination: Examination) => void;
  readonly reject: (error: ApiError) => void;
}

/** One job at a time per worker. Workers start with the first job that needs them, and again after one has died. */
class WorkerPool {
  readonly #options: Required<Pick<ExaminerOptions, 'workers' | 'maxWaiting' | 'script'>>;
  readonly #waiting: WaitingJob[] = [];
  readonly #idle: Worker[] = [];
  readonly #running = new Map<Worker, WaitingJob>();
  #isClosed = false;

  constructor(options: Required<Pick<ExaminerOptions, 'workers' | 'maxWaiting' | 'script'>>) {
    this.#options = options;
  }

  run(job: ExamineJob): Promise<Examination> {
    if (this.#isClosed) throw fail('shutting_down');
    if (this.#waiting.length >= this.#options.maxWaiting)
      throw fail('server_is_overloaded', 'Too many large requests are waiting; try again shortly.', { retryAfter: 1 });
    const { promise, resolve, reject } = Promise.withResolvers<Examination>();
    this.#waiting.push({ job, resolve, reject });
    this.#assign();
    return promise;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of [...this.#running.values(), ...this.#waiting.splice(0)]) reject(fail('shutting_down'));
    const workers = [...this.#running.keys(), ...this.#idle.splice(0)];
    this.#running.clear();
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  #assign(): void {
    while (this.#waiting.length > 0) {
      const worker = this.#idle.pop() ?? this.#start();
      const next = worker && this.#waiting.shift();
      if (!worker || !next) return;
      this.#running.set(worker, next);
      worker.postMessage(next.job, [next.job.bytes.buffer]);
    }
  }

  /** Undefined when all workers are at work. */
  #start(): Worker | undefined {
    if (this.#running.size >= this.#options.workers) return undefined;
    // The options of this process, such as those of a test runner, are not for workers.
    const worker = new Worker(this.#options.script, { execArgv: [] });
    worker.unref();
    let cause: unknown;
    worker.on('message', (examination: Examination) => {
      const job = this.#takeJob(worker);
      this.#idle.push(worker);
      job?.resolve(examination);
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

  #takeJob(worker: Worker): WaitingJob | undefined {
    const job = this.#running.get(worker);
    this.#running.delete(worker);
    return job;
  }
}
