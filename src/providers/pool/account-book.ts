/**
 * Concurrency and rates of accounts, divided among the workers of a machine:
 * the primary lends permits, and recalls those that others are short of.
 */
import { type Clock, entryOf } from '../../core/index.ts';
import { ACCOUNT_QUEUE } from '../../rules/index.ts';

export interface BorrowNotice {
  readonly id: string;
  readonly total: number;
  readonly count: number;
  /** How long permits stay in use after their worker has ended. */
  readonly keepMs: number;
}

export interface PermitNotice {
  readonly id: string;
  readonly count: number;
}

export interface PermitHolder {
  grant(notice: PermitNotice): void;
  recall(id: string): void;
}

interface Entry {
  readonly id: string;
  total: number;
  keepMs: number;
  readonly held: Map<PermitHolder, number>;
  readonly demands: Map<PermitHolder, { count: number; readonly until: number }>;
  isWaiting: boolean;
}

/** How long a worker is expected to need permits that it asked for. Its requests wait no longer. */
const DEMAND_MS = ACCOUNT_QUEUE.mostMs;
/** While a demand is open, the others are asked again: requests of theirs have ended meanwhile. */
const RECALL_MS = 100;

export class AccountBook {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  openPage(holder: PermitHolder) {
    return {
      borrow: ({ id, total, count, keepMs }: BorrowNotice): void => {
        const entry = this.#entryOf(id);
        entry.total = total;
        entry.keepMs = keepMs;
        entry.demands.set(holder, { count, until: this.#clock.elapsed() + DEMAND_MS });
        this.#lend(entry);
      },
      giveBack: ({ id, count }: PermitNotice): void => {
        const entry = this.#entryOf(id);
        entry.held.set(holder, Math.max(0, (entry.held.get(holder) ?? 0) - count));
        // It has more than it needs.
        entry.demands.delete(holder);
        this.#lend(entry);
      },
      close: (): void => {
        for (const entry of this.#entries.values()) {
          entry.demands.delete(holder);
          const free = (): void => {
            if (entry.held.delete(holder)) this.#lend(entry);
          };
          if (entry.keepMs > 0 && entry.held.has(holder)) this.#clock.after(entry.keepMs, free);
          else free();
        }
      },
    };
  }

  #entryOf(id: string): Entry {
    const none = { id, total: 0, keepMs: 0, isWaiting: false };
    return entryOf(this.#entries, id, () => ({ ...none, held: new Map(), demands: new Map() }));
  }

  #lend(entry: Entry): void {
    const now = this.#clock.elapsed();
    let free = entry.total - [...entry.held.values()].reduce((sum, count) => sum + count, 0);
    for (const [holder, demand] of entry.demands) {
      const count = Math.max(0, Math.min(free, demand.count));
      free -= count;
      demand.count -= count;
      if (demand.count === 0 || demand.until <= now) entry.demands.delete(holder);
      if (count === 0) continue;
      entry.held.set(holder, (entry.held.get(holder) ?? 0) + count);
      holder.grant({ id: entry.id, count });
    }
    if (entry.demands.size > 0) this.#recall(entry);
    else if (entry.held.size === 0) this.#entries.delete(entry.id);
  }

  #recall(entry: Entry): void {
    if (entry.isWaiting) return;
    entry.isWaiting = true;
    this.#clock.after(RECALL_MS, () => {
      entry.isWaiting = false;
      this.#lend(entry);
    });
    for (const [holder, count] of entry.held) {
      const ofOthers = entry.demands.size - (entry.demands.has(holder) ? 1 : 0);
      if (count > 0 && ofOthers > 0) holder.recall(entry.id);
    }
  }
}
