/** One worker process as its primary sees it. */
import { type ChildProcess, fork } from 'node:child_process';
import cluster from 'node:cluster';
import { systemClock } from '../../core/index.ts';
import { LINK_PROTOCOL, Link, LinkDown, type LinkService } from '../../platform/cluster/index.ts';
import { SERVER_BOUNDS } from '../../platform/http/index.ts';
import type { SharedPorts } from './shared-ports.ts';
import { type DrainNotice, PRIMARY_ENV, type StartQuestion, WORKER_SERVICES } from './worker-process.ts';

/** A start may include a migration of the database. */
const START_MS = 600_000;
/** The longest turns of an event loop, under a flood, take two seconds. */
const WATCH = { everyMs: 10_000, silentMs: SERVER_BOUNDS.stalledMs.limit } as const;
/** Longer than the checks of a worker. */
const NOT_READY_MS = 2_500;

export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface ForkOptions {
  /** From 1 to `workers`. */
  readonly worker: number;
  readonly workers: number;
  /** Settings that differ from those of the primary. */
  readonly env: Readonly<Record<string, string>>;
  readonly ports: SharedPorts;
  readonly services: Readonly<Record<string, LinkService>>;
}

/** Why requests should not be sent to a worker. */
export class NotReady extends Error {
  override readonly name = 'NotReady';
}

export class WorkerHandle {
  readonly worker: number;
  readonly forkedAt = systemClock.elapsed();
  readonly ended: Promise<WorkerEnd>;
  readonly #options: ForkOptions;
  readonly #process: ChildProcess;
  readonly #link: Link;
  isReady = false;
  hasEnded = false;

  constructor(options: ForkOptions) {
    const { worker, env, ports, services } = options;
    this.worker = worker;
    this.#options = options;
    const child = forkWorker({ ...env, [PRIMARY_ENV]: String(process.pid) }, ports);
    this.#process = child;
    this.#link = new Link({
      clock: systemClock,
      // A process that has just ended cannot be reached; `ended` reports it.
      send: (message) => void child.send(message as object, () => {}),
      services,
    });
    child.on('message', (message) => this.#link.receive(message));
    const { promise, resolve } = Promise.withResolvers<WorkerEnd>();
    child.once('exit', (code, signal) => resolve({ code, signal }));
    // More than one may come: of the start, of a signal that cannot be sent.
    child.on('error', () => child.pid === undefined && resolve({ code: null, signal: null }));
    this.ended = promise.then((end) => {
      this.hasEnded = true;
      this.isReady = false;
      this.#link.close();
      return end;
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** The worker opens everything that requests need. */
  async start(): Promise<void> {
    const { worker, workers, ports } = this.#options;
    const place = { worker, workers, port: ports.port, sockets: ports.inWorkers };
    const question: StartQuestion = { ...place, protocol: LINK_PROTOCOL };
    await this.#link.ask(WORKER_SERVICES.start, question, START_MS);
  }

  /** The worker reads the configuration, takes connections and is ready. */
  async open(): Promise<void> {
    await this.#link.ask(WORKER_SERVICES.open, null, START_MS);
    this.isReady = true;
  }

  async metricsText(): Promise<string> {
    if (!this.isReady) throw new LinkDown('the worker is not ready');
    return String(await this.#link.ask(WORKER_SERVICES.metrics, null));
  }

  /** Rejects with `NotReady` when the worker gives a reason, otherwise when it does not respond. */
  async checkReady(): Promise<void> {
    if (!this.isReady) throw new NotReady('starting');
    const reason = await this.#link.ask(WORKER_SERVICES.notReady, null, NOT_READY_MS);
    if (reason !== null) throw new NotReady(String(reason));
  }

  /** Calls back once when the event loop of the worker has stopped to turn. */
  watch(onStalled: () => void): void {
    this.#link.watch(WORKER_SERVICES.alive, WATCH, onStalled);
  }

  post(name: string, input: unknown): void {
    this.#link.post(name, input);
  }

  /** The worker finishes its requests and ends. */
  drain(notice: DrainNotice): void {
    this.isReady = false;
    this.#link.post(WORKER_SERVICES.drain, notice);
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

/**
 * By the path of the command: after a deployment that replaces a symbolic link, new workers run the new code. On
 * Windows, where processes do not inherit sockets, `node:cluster` shares the ports.
 */
function forkWorker(env: Readonly<Record<string, string>>, { descriptors }: SharedPorts): ChildProcess {
  const [exec, args] = [process.argv[1] ?? '', process.argv.slice(2)];
  if (process.platform !== 'win32')
    return fork(exec, args, {
      env: { ...process.env, ...env },
      stdio: ['inherit', 'inherit', 'inherit', 'ipc', ...descriptors],
    });
  cluster.setupPrimary({ exec, args });
  return cluster.fork(env).process;
}
