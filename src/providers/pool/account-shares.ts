/**
 * The concurrency of accounts that one worker may use. It starts with an equal part of each account's limit, borrows from the primary before
 * it runs out, and gives back what it does not use when another worker is short (account-book.ts). The choice of an account needs no message.
 * Every worker may always send one request, so an account with a lower limit than there are workers may get one from each.
 */
import type { Clock } from '../../core/index.ts';
import { exactPartOf, type Link, type WorkerShare } from '../../platform/cluster/index.ts';
import type { BorrowNotice, PermitNotice } from './account-book.ts';
import type { PooledAccount } from './pool.ts';

export const ACCOUNT_SERVICES = {
  borrow: 'accounts.borrow',
  giveBack: 'accounts.return',
  grant: 'accounts.grant',
  recall: 'accounts.recall',
} as const;

export interface AccountSharesOptions {
  readonly primary: Link;
  readonly share: WorkerShare;
  readonly clock: Clock;
  /** Requests of this worker that use the account. */
  readonly inFlight: (id: string) => number;
  /** The account can take more requests: those that wait for a slot may start. */
  readonly onGrant: (id: string) => void;
}

interface Part {
  readonly id: string;
  total: number;
  held: number;
  /** Until when a question to the primary is open, by `clock.elapsed()`. */
  askedUntil: number;
}

/** The primary forgets a question after twice this time. */
const ASK_AGAIN_MS = 1_000;

export class AccountShares {
  readonly #options: AccountSharesOptions;
  readonly #parts = new Map<string, Part>();

  constructor(options: AccountSharesOptions) {
    this.#options = options;
    options.primary.provide(ACCOUNT_SERVICES.grant, (notice) => this.#onGrant(notice as PermitNotice));
    options.primary.provide(ACCOUNT_SERVICES.recall, (id) => this.#onRecall(String(id)));
  }

  /** The account with this worker's part of its limit, which changes while the account is in use. */
  divided<A extends PooledAccount>(account: A): A {
    const part = this.#partOf(account);
    const limitNow = (): number => this.#limitOf(part);
    return {
      ...account,
      get maxConcurrency() {
        return limitNow();
      },
    };
  }

  /** Starts with an equal part, and returns to it when the limit has changed. */
  #partOf({ id, maxConcurrency: total }: PooledAccount): Part {
    const part = this.#parts.get(id) ?? { id, total: 0, held: 0, askedUntil: 0 };
    this.#parts.set(id, part);
    if (part.total === total) return part;
    part.total = total;
    const missing = exactPartOf(total, this.#options.share) - part.held;
    if (missing > 0) this.#borrow(part, missing);
    else this.#giveBack(part, -missing);
    return part;
  }

  #limitOf(part: Part): number {
    const spare = this.#spareOf(part);
    // Asked for a request that is about to start.
    const missing = Math.min(part.total, this.#options.inFlight(part.id) + 1 + spare) - part.held;
    if (missing > 0 && this.#options.clock.elapsed() >= part.askedUntil) this.#borrow(part, missing + spare);
    return Math.max(1, part.held);
  }

  /** Permits that a worker keeps ready for its next requests. */
  #spareOf({ total }: Part): number {
    return Math.ceil(total / (4 * this.#options.share.workers));
  }

  #onGrant({ id, count }: PermitNotice): void {
    const part = this.#parts.get(id);
    // The account was removed meanwhile.
    if (!part) return this.#options.primary.post(ACCOUNT_SERVICES.giveBack, { id, count } satisfies PermitNotice);
    part.held += count;
    part.askedUntil = 0;
    this.#options.onGrant(id);
  }

  /** Gives back half of what is idle, and keeps one for the next request. */
  #onRecall(id: string): void {
    const part = this.#parts.get(id);
    if (part) this.#giveBack(part, Math.ceil(Math.max(0, part.held - Math.max(1, this.#options.inFlight(id))) / 2));
  }

  #borrow(part: Part, count: number): void {
    part.askedUntil = this.#options.clock.elapsed() + ASK_AGAIN_MS;
    const notice: BorrowNotice = { id: part.id, total: part.total, count };
    this.#options.primary.post(ACCOUNT_SERVICES.borrow, notice);
  }

  #giveBack(part: Part, count: number): void {
    if (count === 0) return;
    part.held -= count;
    this.#options.primary.post(ACCOUNT_SERVICES.giveBack, { id: part.id, count } satisfies PermitNotice);
  }
}
