/** The attempts and the time that one call may use for failover, in its own group and on lines of others. The legs of a call share them. */
import type { Model } from '../catalog/index.ts';
import type { Clock } from '../core/index.ts';
import type { RetryBudget } from '../pool/index.ts';
import { FAILOVER, FALLBACK, type TimeoutClass } from '../rules/index.ts';

export interface AttemptBudgetServices {
  readonly clock: Clock;
  readonly retryBudget: RetryBudget;
}

export class AttemptBudget {
  readonly #clock: Clock;
  readonly #retryBudget: RetryBudget;
  /** In the group of the moment, and in those before it. */
  #attempts = 0;
  #earlier = 0;
  #startedAt: number | undefined;
  #callStartedAt: number | undefined;
  #isSpent = false;

  constructor({ clock, retryBudget }: AttemptBudgetServices) {
    this.#clock = clock;
    this.#retryBudget = retryBudget;
  }

  get attempts(): number {
    return this.#earlier + this.#attempts;
  }

  /** No leg may try anything more. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** A leg begins. Only the first one counts as a call; false when the attempts of earlier ones leave nothing. */
  beginLeg(operation: TimeoutClass): boolean {
    if (this.#startedAt === undefined) {
      this.#startedAt = this.#clock.elapsed();
      this.#callStartedAt ??= this.#startedAt;
      this.#retryBudget.countCall();
    }
    return this.#attempts === 0 || this.takeRetry(operation);
  }

  /**
   * The call goes on in another group; false when it may not. The first attempt there is no retry: its provider has not seen the call.
   */
  beginGroup(): boolean {
    const now = this.#clock.elapsed();
    if (this.attempts >= FALLBACK.attempts || now - (this.#callStartedAt ?? now) > FALLBACK.withinMs) return false;
    this.#earlier = this.attempts;
    this.#attempts = 0;
    this.#startedAt = now;
    this.#isSpent = false;
    return true;
  }

  /** Takes one further attempt; false when attempts or time of the call, or the retries of the process, are used up. */
  takeRetry(operation: TimeoutClass): boolean {
    const isInTime = this.#clock.elapsed() - (this.#startedAt ?? 0) <= FAILOVER.withinMs[operation];
    const isUsed = this.#attempts >= FAILOVER.attempts || this.attempts >= FALLBACK.attempts;
    this.#isSpent = isUsed || !isInTime || !this.#retryBudget.take();
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
    this.#earlier = 0;
    this.#startedAt = undefined;
    this.#callStartedAt = undefined;
  }
}

/** One of several legs of a call. */
export interface LegTurn {
  /** Other accounts can take the call: none is tried that is cooling down. */
  readonly onlyReady: boolean;
  /** A call waits for a slot of these accounts before others take it. */
  readonly waits: boolean;
  /** Lines of other groups can take the call after this leg. */
  readonly hasFallback: boolean;
  readonly budget: AttemptBudget;
  /** The model of the request is known. `isBound`: it names what is stored at one provider, so that no other one can take it. */
  onModel(model: Model, isBound: boolean): void;
}
