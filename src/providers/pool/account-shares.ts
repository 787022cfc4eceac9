/**
 * What one worker may use of accounts: a part of each limit, and permits that the primary lends.
 * One request at a time is always admitted; rates are exact.
 */
import { type Clock, entryOf, WINDOW_MS } from '../../core/index.ts';
import { exactPartOf, type Link, type WorkerShare } from '../../platform/cluster/index.ts';
import type { BorrowNotice, PermitNotice } from './account-book.ts';
import type { Pool, PooledAccount } from './pool.ts';

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
  readonly pool: Pool;
}

type ShareKind = 'slots' | 'rpm' | 'tpm';

interface Part {
  readonly id: string;
  readonly kind: ShareKind;
  account: PooledAccount;
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
    const { maxConcurrency, limits } = account;
    const slots = this.#partOf(account, 'slots', maxConcurrency ?? 0);
    const [rpm, tpm] = [this.#partOf(account, 'rpm', limits?.rpm ?? 0), this.#partOf(account, 'tpm', limits?.tpm ?? 0)];
    const limitOf = (part: Part): number => this.#limitOf(part);
    return {
      ...account,
      get maxConcurrency() {
        return maxConcurrency && Math.max(1, limitOf(slots));
      },
      parts: limits && (() => ({ rpm: limitOf(rpm), tpm: limitOf(tpm) })),
    };
  }

  /** Starts with an equal part, and returns to it when the limit has changed. */
  #partOf(account: PooledAccount, kind: ShareKind, total: number): Part {
    const id = kind === 'slots' ? account.id : `${account.id}\n${kind}`;
    const part = entryOf(this.#parts, id, () => ({ id, kind, account, total: 0, held: 0, askedUntil: 0 }));
    part.account = account;
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
    const missing = Math.min(part.total, this.#inUse(part, 1) + spare) - part.held;
    if (missing > 0 && this.#options.clock.elapsed() >= part.askedUntil) this.#borrow(part, missing + spare);
    return part.held;
  }

  #inUse({ account, kind }: Part, more: number): number {
    const { pool } = this.#options;
    const open = pool.inFlight(account.id) + more;
    if (kind === 'slots') return open;
    const { requests, tokens } = pool.usage.used(account, open);
    return kind === 'rpm' ? requests + more : tokens;
  }

  #spareOf({ total }: Part): number {
    return Math.ceil(total / (4 * this.#options.share.workers));
  }

  #onGrant({ id, count }: PermitNotice): void {
    const part = this.#parts.get(id);
    // The account was removed meanwhile.
    if (!part) return this.#options.primary.post(ACCOUNT_SERVICES.giveBack, { id, count } satisfies PermitNotice);
    part.held += count;
    part.askedUntil = 0;
    this.#options.pool.announceRoom(part.account.id);
  }

  /** Gives back half of what is idle, and keeps one slot for the next request. */
  #onRecall(id: string): void {
    const part = this.#parts.get(id);
    if (!part) return;
    const kept = Math.max(part.kind === 'slots' ? 1 : 0, this.#inUse(part, 0));
    this.#giveBack(part, Math.ceil(Math.max(0, part.held - kept) / 2));
  }

  #borrow(part: Part, count: number): void {
    part.askedUntil = this.#options.clock.elapsed() + ASK_AGAIN_MS;
    const notice: BorrowNotice = {
      id: part.id,
      total: part.total,
      count,
      keepMs: part.kind === 'slots' ? 0 : WINDOW_MS,
    };
    this.#options.primary.post(ACCOUNT_SERVICES.borrow, notice);
  }

  #giveBack(part: Part, count: number): void {
    if (count === 0) return;
    part.held -= count;
    this.#options.primary.post(ACCOUNT_SERVICES.giveBack, { id: part.id, count } satisfies PermitNotice);
  }
}
