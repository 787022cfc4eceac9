/**
 * The request log of one process: batches off the path of requests. A crash loses the last second; overflow is dropped
 * and counted.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, codeOf, errorFields, type Log, within } from '../../core/index.ts';
import type { RequestEntry } from './request-entry.ts';
import type { EntryCosts, RequestWriter } from './request-writer.ts';

export interface RequestLogOptions {
  readonly writer: RequestWriter;
  readonly clock: Clock;
  readonly log: Log;
  /** From the first waiting entry to its write. */
  readonly flushMs?: number | undefined;
  readonly onWritten?: (entries: readonly RequestEntry[], costs: EntryCosts) => void;
}

/** About 20 MB of memory while the database is away: some seconds of full load. */
const MAX_ENTRIES = 20_000;
/** Large enough that the cost of a statement is shared. */
const BATCH_ROWS = 2_000;
const FLUSH_MS = 1_000;
const MAX_BACKOFF_MS = 10_000;
const CREATE_DAYS_MS = 3_600_000;
/** A shutdown waits no longer for a log. */
const STOP_MS = 3_000;

export class RequestLog {
  readonly #options: RequestLogOptions;
  #entries: RequestEntry[] = [];
  #dropped = 0;
  #failures = 0;
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #daysCreatedAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  constructor(options: RequestLogOptions) {
    this.#options = options;
  }

  get dropped(): number {
    return this.#dropped;
  }

  add(entry: RequestEntry): void {
    if (this.#entries.length >= MAX_ENTRIES) {
      this.#dropped += 1;
      return;
    }
    this.#entries.push(entry);
    if (this.#cancel === undefined && this.#running === undefined && !this.#isStopped) this.#schedule();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    const drained = this.#drain().catch(() => {});
    await within(drained, { clock: this.#options.clock, ms: STOP_MS, late: () => {} });
    this.#dropped += this.#entries.length;
    this.#entries = [];
  }

  async #drain(): Promise<void> {
    await this.#running;
    while (this.#entries.length > 0) await this.#writeBatch();
  }

  #schedule(): void {
    const { clock, flushMs = FLUSH_MS } = this.#options;
    const waitMs = this.#failures === 0 ? flushMs : Math.min(MAX_BACKOFF_MS, flushMs * 2 ** this.#failures);
    this.#cancel = clock.after(waitMs, () => {
      this.#cancel = undefined;
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
        if (this.#entries.length > 0 && !this.#isStopped) this.#schedule();
      });
    });
  }

  async #run(): Promise<void> {
    try {
      do {
        await this.#writeBatch();
        await nextTurn();
      } while (this.#entries.length >= BATCH_ROWS && !this.#isStopped);
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      this.#options.log.warn('request_log.write_failed', { waiting: this.#entries.length, ...errorFields(error) });
    }
  }

  /**
   * The entries stay until they are written. A batch that the database cannot store is dropped, because it never could.
   */
  async #writeBatch(): Promise<void> {
    const { writer, clock, onWritten } = this.#options;
    const batch = this.#entries.slice(0, BATCH_ROWS);
    const now = clock.now();
    if (Math.abs(now - this.#daysCreatedAt) >= CREATE_DAYS_MS) {
      await writer.createDays(now);
      this.#daysCreatedAt = now;
    }
    try {
      onWritten?.(batch, await writer.write(batch));
    } catch (error) {
      if (!isDataFault(error)) throw error;
      this.#dropped += batch.length;
      this.#options.log.error('request_log.batch_dropped', { entries: batch.length, ...errorFields(error) });
    }
    this.#entries = this.#entries.slice(batch.length);
  }
}

/** SQLSTATE class 22: the fault is in the data. */
const isDataFault = (error: unknown): boolean => /^22...$/.test(codeOf(error) ?? '');
