/**
 * Signals that end a command: first a stop, later at once. None ends the process by itself, or PostgreSQL would be left
 * running.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../platform/config.ts';
import type { Store } from '../server/index.ts';
import { info } from './output.ts';

/** SIGHUP: the terminal was closed. */
export const SIGNALS = { SIGINT: 'Interrupted.', SIGTERM: 'SIGTERM received.', SIGHUP: 'SIGHUP received.' } as const;
/**
 * Ctrl-C reaches npm, the launcher and this process, and each forwards it: signals this close together count as one.
 */
const SAME_SIGNAL_MS = 1_000;
/** The embedded PostgreSQL stops in less than a second; on a slow disk it goes on by itself. */
const END_MS = 5_000;
/** Beyond the drain: the journal is written to the database and the connections are closed. */
export const STOP_MS = 10_000;

export class StopRequests {
  readonly #first = Promise.withResolvers<string>();
  readonly #again = Promise.withResolvers<void>();
  /** Resolves with the reason. */
  readonly first = this.#first.promise;
  readonly again = this.#again.promise;
  readonly #listeners = Object.entries(SIGNALS).map(([signal, reason]) => ({
    signal,
    listener: () => this.#onSignal(reason),
  }));
  #requestedAt: number | undefined;
  #limitMs = STOP_MS;

  constructor() {
    void this.first.then(() => this.#watch());
    for (const { signal, listener } of this.#listeners) process.on(signal, listener);
  }

  get isRequested(): boolean {
    return this.#requestedAt !== undefined;
  }

  /** From now on an orderly stop may take as long as requests take to drain. A later call does not shorten it. */
  allowDrain({ DRAIN_BEFORE_MS, DRAIN_MS }: Config, marginMs = STOP_MS): void {
    this.#limitMs = Math.max(this.#limitMs, DRAIN_BEFORE_MS + DRAIN_MS + marginMs);
  }

  /** Asks for a stop without a signal. */
  request(reason: string): void {
    this.#requestedAt ??= performance.now();
    this.#first.resolve(reason);
  }

  /** From now on signals end the process again. */
  close(): void {
    for (const { signal, listener } of this.#listeners) process.off(signal, listener);
  }

  /**
   * A dependency that hangs must not keep the process: after the limit it stops at once, and ends even if that is not
   * possible.
   */
  #watch(): void {
    setTimeout(() => {
      warnOfOpen(`Not stopped within ${Math.round(this.#limitMs / 1_000)} s`);
      this.#again.resolve();
      setTimeout(() => process.exit(1), END_MS).unref();
    }, this.#limitMs).unref();
  }

  #onSignal(reason: string): void {
    if (this.#requestedAt === undefined) this.request(reason);
    else if (performance.now() - this.#requestedAt >= SAME_SIGNAL_MS) this.#again.resolve();
  }
}

/**
 * Ends the process without waiting for requests or queries. Usage of open requests is in the journal, which the next
 * start reads.
 */
export async function endAtOnce(store: Store): Promise<void> {
  info('Stopping at once.');
  await Promise.race([store.leaveDatabase().catch(() => {}), sleep(END_MS)]);
  process.exit(1);
}

/** Time for what closes by itself, such as the output of the log. */
const LINGER_MS = 3_000;

/**
 * Ends the process of a server that has stopped, or whose start was refused, whatever is still open: a supervisor must
 * see the exit. A connection to Redis that is being opened, for example, cannot be closed. The timer alone does not
 * keep the process alive.
 */
export function endSoon(): void {
  setTimeout(() => {
    warnOfOpen('Ending');
    process.exit();
  }, LINGER_MS).unref();
}

/** Names what is open by its kind, such as TCPSocketWrap. */
export function warnOfOpen(what: string): void {
  const open = [...new Set(process.getActiveResourcesInfo())].filter((kind) => kind !== 'Timeout');
  process.stderr.write(`${what} with connections still open: ${open.join(', ')}\n`);
}
