/**
 * The workers of a server: starts them, replaces those that end, or all of them one by one at a reload, and stops them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { errorFields, errorText, type Log, systemClock } from '../../core/index.ts';
import { LinkDown } from '../../platform/cluster/index.ts';
import type { Config } from '../../platform/config.ts';
import { CliError } from '../server/index.ts';
import { PrimaryState } from './primary-state.ts';
import type { SharedPorts } from './shared-ports.ts';
import { STOP_MS } from './stop-requests.ts';
import { NotReady, type WorkerEnd, WorkerHandle } from './worker-handle.ts';

export interface SupervisorOptions {
  readonly workers: number;
  /** Workers listen on them as long as they take connections. */
  readonly ports: SharedPorts;
  readonly log: Log;
  /** No worker can be kept running; `message` says why. */
  readonly onGiveUp: (message: string) => void;
}

/** A worker that ends sooner than this after its fork has failed to start. */
const SOON_MS = 5_000;
/** Ends in a row, each soon after its start, after which nothing is left to try while no worker is ready. */
const MAX_FAILURES = 5;
/** The first replacement starts at once, the following ones after a delay that doubles. */
const DELAY_MS = { first: 250, max: 10_000 } as const;
/** Beyond the time of the drain. A worker that hangs ends by itself before. */
export const SUPERVISOR_STOP_MS = STOP_MS + 2_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #shared = new PrimaryState(systemClock);
  /** By number, from 1 on. */
  readonly #current = new Map<number, WorkerHandle>();
  /** Everything that runs, also what is draining or starting. */
  readonly #running = new Set<WorkerHandle>();
  readonly #stopping = new AbortController();
  #env: Readonly<Record<string, string>> = {};
  #failures = 0;
  #drainMs = 0;
  #isOpen = false;
  /** The number of the worker that a reload replaces at the moment. */
  #replacing = 0;
  #isReloading = false;

  /** Forks all workers, which load their code while the database starts. */
  constructor(options: SupervisorOptions) {
    this.#options = options;
    for (let worker = 1; worker <= options.workers; worker += 1) this.#current.set(worker, this.#fork(worker, {}));
  }

  /** How long workers may drain. Those before a reload may still run, so that the longest time counts. */
  allowDrain({ DRAIN_BEFORE_MS, DRAIN_MS }: Config): void {
    this.#drainMs = Math.max(this.#drainMs, DRAIN_BEFORE_MS + DRAIN_MS);
  }

  /** All workers open what requests need, except that they are not ready yet. */
  async start(): Promise<void> {
    await Promise.all([...this.#current.values()].map((handle) => handle.start())).catch(rethrow);
  }

  /** All workers become ready. From then on a worker that ends is replaced. */
  async open(): Promise<void> {
    await Promise.all([...this.#current.values()].map((handle) => handle.open())).catch(rethrow);
    this.#isOpen = true;
    for (const handle of this.#current.values()) this.#onReady(handle);
    for (const handle of this.#current.values()) if (handle.hasEnded) this.#onEnded(handle, UNKNOWN_END);
  }

  /**
   * Replaces the workers one by one, with these settings and those of earlier reloads. A worker that cannot start ends
   * the reload.
   */
  async reload(env: Readonly<Record<string, string>>, report: (line: string) => void): Promise<void> {
    if (this.#isReloading) throw new CliError('A reload is running already; wait until it has ended.');
    this.#isReloading = true;
    const next = { ...this.#env, ...env };
    try {
      for (let worker = 1; worker <= this.#options.workers; worker += 1) {
        if (this.#stopping.signal.aborted) throw new CliError('The server stops.');
        await this.#replace(worker, next, report);
        this.#env = next;
      }
    } finally {
      this.#isReloading = false;
    }
  }

  /** Undefined when a worker is ready, otherwise why none is. */
  async notReady(): Promise<string | undefined> {
    if (this.#stopping.signal.aborted) return 'shutting down';
    const asked = [...this.#current.values()].map((handle) => handle.checkReady());
    return Promise.any(asked).then(
      () => undefined,
      ({ errors }: AggregateError) => String(errors.find((error) => error instanceof NotReady)?.message ?? SILENT),
    );
  }

  /** Lets all workers finish their requests. Returns false when one of them did not end in an orderly way. */
  async stop(): Promise<boolean> {
    this.#stopping.abort();
    const handles = [...this.#running];
    for (const handle of handles) handle.drain({ isHandover: false });
    const late = setTimeout(() => this.killAll(), this.#drainMs + SUPERVISOR_STOP_MS);
    const ends = await Promise.all(handles.map(({ ended }) => ended));
    clearTimeout(late);
    return ends.every(({ code }) => code === 0);
  }

  /** Usage of open requests is in the journals, which the next start reads. */
  killAll(): void {
    this.#stopping.abort();
    for (const handle of this.#running) handle.kill();
  }

  #fork(worker: number, env: Readonly<Record<string, string>>): WorkerHandle {
    const { workers, ports } = this.#options;
    const part = this.#shared.openPart((name, input) => handle.post(name, input));
    const handle: WorkerHandle = new WorkerHandle({ worker, workers, env, ports, services: part.services });
    this.#running.add(handle);
    part.readMetricsBy(() => handle.metricsText());
    void handle.ended.then((end) => {
      this.#running.delete(handle);
      part.close();
      this.#onEnded(handle, end);
    });
    return handle;
  }

  #onEnded(handle: WorkerHandle, end: WorkerEnd): void {
    const { worker, pid, forkedAt } = handle;
    if (!this.#isOpen || this.#stopping.signal.aborted || this.#current.get(worker) !== handle) return;
    this.#options.log.error('worker.ended', { worker, pid, ...end });
    this.#failures = systemClock.elapsed() - forkedAt < SOON_MS ? this.#failures + 1 : 1;
    if (this.#replacing !== worker) void this.#restart(worker, end);
  }

  async #restart(worker: number, end: WorkerEnd): Promise<void> {
    const isAnyReady = [...this.#current.values()].some(({ isReady }) => isReady);
    if (this.#failures >= MAX_FAILURES && !isAnyReady) return this.#options.onGiveUp(givenUp(end));
    const { signal } = this.#stopping;
    const delayMs = this.#failures < 2 ? 0 : Math.min(DELAY_MS.max, DELAY_MS.first * 2 ** (this.#failures - 2));
    await sleep(delayMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const handle = this.#fork(worker, this.#env);
    this.#current.set(worker, handle);
    await this.#bringUp(handle).catch((error: unknown) => {
      this.#options.log.error('worker.start_failed', { worker, ...errorFields(error) });
      // Its end leads back here.
      handle.kill();
    });
  }

  async #bringUp(handle: WorkerHandle): Promise<void> {
    await handle.start();
    await handle.open();
    this.#onReady(handle);
  }

  #onReady(handle: WorkerHandle): void {
    const { worker, pid, hasEnded } = handle;
    if (hasEnded) return;
    this.#options.log.info('worker.ready', { worker, pid });
    // Its end leads to its replacement.
    handle.watch(() => {
      this.#options.log.error('worker.stalled', { worker, pid });
      handle.kill();
    });
  }

  async #replace(worker: number, env: Readonly<Record<string, string>>, report: (line: string) => void): Promise<void> {
    const name = `Worker ${worker} of ${this.#options.workers}`;
    this.#replacing = worker;
    const old = this.#current.get(worker);
    const fresh = this.#fork(worker, env);
    try {
      await this.#bringUp(fresh);
      this.#current.set(worker, fresh);
    } catch (error) {
      fresh.kill();
      this.#replacing = 0;
      if (old?.hasEnded) void this.#restart(worker, UNKNOWN_END);
      throw new CliError(`${name}: the new process failed, and the old one stays. ${errorText(error)}`);
    }
    this.#replacing = 0;
    report(`${name}: process ${fresh.pid} is ready; process ${old?.pid} finishes its requests.`);
    old?.drain({ isHandover: true });
    await old?.ended;
  }
}

const SILENT = 'the workers do not respond';

const UNKNOWN_END: WorkerEnd = { code: null, signal: null };

const givenUp = ({ code, signal }: WorkerEnd): string =>
  `The workers ended ${MAX_FAILURES} times in a row soon after their start, the last one ${
    signal === null ? `with exit code ${code}` : `by ${signal}`
  }; the log above says why.`;

/** A worker that reports a problem describes it for the operator. */
function rethrow(error: unknown): never {
  throw new CliError(error instanceof LinkDown ? 'A worker ended during the start.' : errorText(error));
}
