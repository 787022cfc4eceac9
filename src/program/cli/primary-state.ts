/**
 * What the workers of a server share through their primary: limits, failed sign-ins, the concurrency of accounts, and
 * the page of all metrics.
 */
import { LocalSignInCounts, SIGN_IN_SERVICES, type SignInAttempt } from '../../access/people/index.ts';
import type { Clock } from '../../core/index.ts';
import { SPEND_SERVICES, SpendBook, type SpendEndNotice, type SpendQuestion } from '../../ledger/index.ts';
import type { LinkService } from '../../platform/cluster/index.ts';
import { MetricsBook } from '../../platform/web/index.ts';
import * as pool from '../../providers/pool/index.ts';
import { PRIMARY_SERVICES } from './worker-process.ts';

export interface SharedPart {
  readonly services: Readonly<Record<string, LinkService>>;
  /** `read` returns the metrics of the worker; it rejects while the worker cannot be asked. */
  readMetricsBy(read: () => Promise<string>): void;
  /** The worker has ended. */
  close(): void;
}

export class PrimaryState {
  readonly #limits: pool.LimitBook;
  readonly #spending: SpendBook;
  readonly #accounts: pool.AccountBook;
  readonly #signIns: LocalSignInCounts;
  readonly #metrics = new MetricsBook();
  readonly #readers = new Map<number, () => Promise<string>>();
  #nextId = 1;

  constructor(clock: Clock) {
    this.#limits = new pool.LimitBook(clock);
    this.#spending = new SpendBook(clock);
    this.#accounts = new pool.AccountBook(clock);
    this.#signIns = new LocalSignInCounts(clock);
  }

  openPart(post: (name: string, input: unknown) => void): SharedPart {
    const id = this.#nextId;
    this.#nextId += 1;
    const limits = this.#limits.openPage();
    const spending = this.#spending.openPage();
    const accounts = this.#accounts.openPage({
      grant: (notice) => post(pool.ACCOUNT_SERVICES.grant, notice),
      recall: (account) => post(pool.ACCOUNT_SERVICES.recall, account),
    });
    return {
      services: {
        [pool.LIMIT_SERVICES.take]: (question) => limits.take(question as pool.TakeQuestion),
        [pool.LIMIT_SERVICES.release]: (slot) => limits.release(slot as number),
        [pool.LIMIT_SERVICES.count]: (notice) => limits.count(notice as pool.TokenNotice),
        [SPEND_SERVICES.reserve]: (question) => spending.reserve(question as SpendQuestion),
        [SPEND_SERVICES.end]: (notice) => spending.end(notice as SpendEndNotice),
        [SIGN_IN_SERVICES.begin]: (attempt) => this.#signIns.begin(attempt as SignInAttempt),
        [SIGN_IN_SERVICES.succeed]: (attempt) => this.#signIns.succeed(attempt as SignInAttempt),
        [pool.ACCOUNT_SERVICES.borrow]: (notice) => accounts.borrow(notice as pool.BorrowNotice),
        [pool.ACCOUNT_SERVICES.giveBack]: (notice) => accounts.giveBack(notice as pool.PermitNotice),
        [PRIMARY_SERVICES.allMetrics]: () => this.#allMetrics(),
        [PRIMARY_SERVICES.lastMetrics]: (text) => this.#keepLast(id, String(text)),
      },
      readMetricsBy: (read) => this.#readers.set(id, read),
      close: () => {
        limits.close();
        spending.close();
        accounts.close();
        this.#readers.delete(id);
        this.#metrics.end(id);
      },
    };
  }

  #keepLast(id: number, text: string): void {
    this.#readers.delete(id);
    this.#metrics.update(id, text);
  }

  /** A worker that does not respond counts with what it reported last. */
  async #allMetrics(): Promise<string> {
    await Promise.allSettled(
      [...this.#readers].map(async ([id, read]) => {
        const text = await read();
        if (this.#readers.has(id)) this.#metrics.update(id, text);
      }),
    );
    return this.#metrics.text();
  }
}
