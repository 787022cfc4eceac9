/** One worker process as its primary sees it. */

import cluster, { type Worker as ClusterWorker } from 'node:cluster';
import type { Socket } from 'node:net';
import { LINK_PROTOCOL, Link, LinkDown, type LinkService } from '../cluster/index.ts';
import { systemClock } from '../core/index.ts';
import {
  type ConnectionMessage,
  type DrainNotice,
  PRIMARY_ENV,
  type StartQuestion,
  WORKER_SERVICES,
} from './worker-process.ts';

/** A start may include a migration of the database. */
const START_MS = 600_000;

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
  readonly services: Readonly<Record<string, LinkService>>;
}

export class WorkerHandle {
  readonly worker: number;
  readonly forkedAt = systemClock.elapsed();
  /** Resolves when the process has ended. */
  readonly ended: Promise<WorkerEnd>;
  readonly #process: ClusterWorker;
  readonly #workers: number;
  readonly #link: Link;
  isReady = false;
  hasEnded = false;

  constructor({ worker, workers, env, services }: ForkOptions) {
    this.worker = worker;
    this.#workers = workers;
    const child = cluster.fork({ ...env, [PRIMARY_ENV]: String(process.pid) });
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
    child.once('error', () => child.process.pid === undefined && resolve({ code: null, signal: null }));
    this.ended = promise.then((end) => {
      this.hasEnded = true;
      this.isReady = false;
      this.#link.close();
      return end;
    });
  }

  get pid(): number | undefined {
    return this.#process.process.pid;
  }

  /** The worker opens everything that requests need. `port` is that of the API. */
  async start(port: number): Promise<void> {
    const question: StartQuestion = { worker: this.worker, workers: this.#workers, protocol: LINK_PROTOCOL, port };
    await this.#link.ask(WORKER_SERVICES.start, question, START_MS);
  }

  /** The worker reads the configuration and is ready. */
  async open(): Promise<void> {
    await this.#link.ask(WORKER_SERVICES.open, null, START_MS);
    this.isReady = true;
  }

  async metricsText(): Promise<string> {
    if (!this.isReady) throw new LinkDown('the worker is not ready');
    return String(await this.#link.ask(WORKER_SERVICES.metrics, null));
  }

  /** The connection stays open here as well. */
  sendConnection(message: ConnectionMessage, socket: Socket): void {
    this.#process.send(message, socket, { keepOpen: true }, () => {});
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
    this.#process.process.kill('SIGKILL');
  }
}
