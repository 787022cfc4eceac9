/** The attempts and the time that one call may use for failover. The legs of a call share them. */
import type { Clock } from '../core/index.ts';
import type { RetryBudget } from '../pool/index.ts';
import { FAILOVER, type TimeoutClass } from '../rules/index.ts';

export interface AttemptBudgetServices {
  readonly clock: Clock;
  readonly retryBudget: RetryBudget;
}

export class AttemptBudget {
  readonly #clock: Clock;
  readonly #retryBudget: RetryBudget;
  #attempts = 0;
  #startedAt: number | undefined;
  #isSpent = false;

  constructor({ clock, retryBudget }: AttemptBudgetServices) {
    this.#clock = clock;
    this.#retryBudget = retryBudget;
  }

  get attempts(): number {
    return this.#attempts;
  }

  /** No leg may try anything more. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** A leg begins. Only the first one counts as a call; false when the attempts of earlier ones leave nothing. */
  beginLeg(operation: TimeoutClass): boolean {
    if (this.#startedAt === undefined) {
      this.#startedAt = this.#clock.elapsed();
      this.#retryBudget.countCall();
    }
    return this.#attempts === 0 || this.takeRetry(operation);
  }

  /** Takes one further attempt; false when attempts or time of the call, or the retries of the process, are used up. */
  takeRetry(operation: TimeoutClass): boolean {
    const isInTime = this.#clock.elapsed() - (this.#startedAt ?? 0) <= FAILOVER.withinMs[operation];
    this.#isSpent = this.#attempts >= FAILOVER.attempts || !isInTime || !this.#retryBudget.take();
    return !this.#isSpent;
  }

  /** An account is tried. */
  countAttempt(): void {
    this.#attempts += 1;
  }

  /** The same account gets the rest of a request of which its provider rejected a part: both are one attempt. */
  repeatAttempt(): void {
    this.#attempts -= 1;
  }

  /** A provider replied. A further request of the same call, such as the next round, begins anew. */
  renew(): void {
    this.#attempts = 0;
    this.#startedAt = undefined;
  }
}

/** One of several legs of a call. */
export interface LegTurn {
  /** Accounts of another dialect can take the call: none is tried that is cooling down. */
  readonly onlyReady: boolean;
  readonly budget: AttemptBudget;
}
