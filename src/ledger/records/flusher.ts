/**
 * Moves records from the journal of this process to the database, one batch at a time.
 * Records stay in the journal until then.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, errorFields, type Log } from '../../core/index.ts';
import type { UsageRecord } from '../usage-record.ts';
import type { Journal } from './journal.ts';
import type { LeaseState, UsageWriter } from './usage-writer.ts';

export interface FlusherOptions {
  readonly intervalMs?: number | undefined;
  readonly writer: Pick<UsageWriter, 'write'>;
  readonly journal: Journal;
  readonly replica: { readonly id: string };
  readonly clock: Clock;
  readonly log: Log;
  readonly onFlushed: (records: readonly UsageRecord[], leases: readonly LeaseState[]) => void;
  /** Called once when several flushes in a row have failed, and once when a flush succeeds again. */
  readonly onFailing?: (failures: number, fault: string) => void;
  readonly onRecovered?: () => void;
}

/** Large enough that the cost of a statement is shared. */
export const BATCH_ROWS = 2_000;
/** Charging one takes 50 us, and a call that needs more of a wallet waits for all of its flush. */
const BATCH_WALLETS = 500;
/** From one flush to the next: parsing and planning its statements costs the same for few records as for many. */
const BATCH_MS = 1_000;
/**
 * The wait of a record after a second without a flush,
 * and of one that other replicas wait for; also the first interval of new attempts.
 */
const SOON_MS = 200;
/**
 * Records that are read in one turn of the event loop. A thousand at once take 5 ms, fifty a quarter of a millisecond.
 */
const SLICE_ROWS = 50;
const MAX_BACKOFF_MS = 10_000;
/** One or two failures are normal while the database restarts. */
const FAILURES_TO_REPORT = 3;

export class Flusher {
  readonly #options: FlusherOptions;
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  /** Serializes batches: two at once would mark the same records as flushed twice. */
  #queue: Promise<void> = Promise.resolve();
  #failures = 0;
  #isSoon = false;
  #startedAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  constructor(options: FlusherOptions) {
    this.#options = options;
    options.journal.onPending((pending) => {
      if (pending >= BATCH_ROWS && this.#failures === 0) this.#start();
      else this.#schedule();
    });
  }

  /**
   * Flushes earlier than usual, because another replica waits for the last record.
   * Does not shorten the wait after a failure.
   */
  flushSoon(): void {
    if (this.#isSoon || this.#failures > 0) return;
    this.#isSoon = true;
    if (this.#running) return;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#schedule();
  }

  get failures(): number {
    return this.#failures;
  }

  /**
   * Flushes everything that is pending now. Throws when the database cannot be used;
   * the records then stay in the journal.
   */
  async drain(): Promise<void> {
    do
      await this.#enqueue(async () => {
        await this.#flushBatch();
      });
    while (this.#options.journal.pending > 0);
  }

  /** Runs the task between two batches: while it runs, every record is either in the database or in the journal. */
  betweenFlushes(task: () => Promise<void>): Promise<void> {
    return this.#enqueue(task);
  }

  /** Stops after the running batch. Other records stay in the journal. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#running;
  }

  #schedule(): void {
    if (this.#cancel || this.#running || this.#isStopped) return;
    this.#cancel = this.#options.clock.after(this.#delayMs(), () => {
      this.#cancel = undefined;
      this.#start();
    });
  }

  #start(): void {
    if (this.#running || this.#isStopped) return;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#isSoon = false;
    this.#startedAt = this.#options.clock.elapsed();
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#options.journal.pending > 0) this.#schedule();
    });
  }

  async #run(): Promise<void> {
    const { journal, log, onFailing, onRecovered } = this.#options;
    try {
      let isCut = false;
      const flush = async () => {
        isCut = await this.#flushBatch();
      };
      do await this.#enqueue(flush);
      while ((isCut || journal.pending >= BATCH_ROWS) && !this.#isStopped);
      if (this.#failures >= FAILURES_TO_REPORT) onRecovered?.();
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      const fields = errorFields(error);
      log.error('usage.flush_failed', { pending: journal.pending, ...fields });
      if (this.#failures === FAILURES_TO_REPORT) onFailing?.(this.#failures, fields.fault);
    }
  }

  #enqueue(task: () => Promise<void>): Promise<void> {
    const turn = this.#queue.then(task);
    this.#queue = turn.catch(() => {});
    return turn;
  }

  async #flushBatch(): Promise<boolean> {
    const { journal, writer, replica, onFlushed } = this.#options;
    const { records, isCut } = await this.#readBatch();
    if (records.length === 0) return false;
    const leases = await writer.write(replica.id, records);
    journal.markFlushed(records.length);
    onFlushed(records, leases);
    return isCut;
  }

  /**
   * Reads in slices, so that no call waits for a whole batch. Only a flush removes records, so the slices fit together.
   */
  async #readBatch(): Promise<{ readonly records: readonly UsageRecord[]; readonly isCut: boolean }> {
    const { journal } = this.#options;
    const records: UsageRecord[] = [];
    const wallets = new Set<string>();
    while (records.length < BATCH_ROWS && journal.pending > records.length) {
      if (wallets.size >= BATCH_WALLETS) return { records, isCut: true };
      if (records.length > 0) await nextTurn();
      const slice = journal.peek(Math.min(SLICE_ROWS, BATCH_ROWS - records.length), records.length);
      for (const { userId } of slice) wallets.add(userId);
      records.push(...slice);
    }
    return { records, isCut: false };
  }

  #delayMs(): number {
    if (this.#failures > 0) return Math.min(MAX_BACKOFF_MS, SOON_MS * 2 ** this.#failures);
    if (this.#isSoon) return SOON_MS;
    const { clock, intervalMs = BATCH_MS } = this.#options;
    return Math.max(SOON_MS, this.#startedAt + intervalMs - clock.elapsed());
  }
}
