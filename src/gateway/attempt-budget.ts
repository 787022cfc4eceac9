/** The attempts and the time that one call may use for failover, in its own group and on lines of others. The legs of a call share them. */
import type { Model } from '../catalog/index.ts';
import type { Clock } from '../core/index.ts';
import type { RetryBudget } from '../providers/pool/index.ts';
import { FAILOVER, FALLBACK, type TimeoutClass } from '../rules/index.ts';

export interface AttemptBudgetServices {
  readonly clock: Clock;
  readonly retryBudget: RetryBudget;
}

/** What one group has used of its attempts, whichever pass or leg used them. */
interface GroupAttempts {
  attempts: number;
  /** Since the first of them. */
  startedAt: number | undefined;
}

export class AttemptBudget {
  readonly #clock: Clock;
  readonly #retryBudget: RetryBudget;
  /** In the call's own group, in that of the moment, and in those of fallback lines by their ids. Few calls need the last. */
  #own: GroupAttempts = { attempts: 0, startedAt: undefined };
  #group = this.#own;
  #others: Map<string, GroupAttempts> | undefined;
  #callStartedAt: number | undefined;
  #isSpent = false;

  constructor({ clock, retryBudget }: AttemptBudgetServices) {
    this.#clock = clock;
    this.#retryBudget = retryBudget;
  }

  get attempts(): number {
    let sum = this.#own.attempts;
    if (this.#others) for (const { attempts } of this.#others.values()) sum += attempts;
    return sum;
  }

  /** No leg of the group may try anything more. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** A leg begins. Only the first one counts as a call; false when the attempts of earlier ones leave nothing. */
  beginLeg(operation: TimeoutClass): boolean {
    if (this.#callStartedAt === undefined) {
      this.#callStartedAt = this.#clock.elapsed();
      this.#retryBudget.countCall();
    }
    return this.#group.attempts === 0 || this.takeRetry(operation);
  }

  /** The call continues in the group of a fallback line, or in its own again; false when it may not. A provider that has not seen the call gets it without a retry being taken. */
  beginGroup(groupId: string | undefined): boolean {
    const now = this.#clock.elapsed();
    if (this.attempts >= FALLBACK.attempts || now - (this.#callStartedAt ?? now) > FALLBACK.withinMs) return false;
    this.#group = this.#groupOf(groupId);
    this.#isSpent = false;
    return true;
  }

  /** Takes one further attempt; false when attempts or time of the call, or the retries of the process, are used up. */
  takeRetry(operation: TimeoutClass): boolean {
    const { attempts, startedAt } = this.#group;
    const now = this.#clock.elapsed();
    const isInTime = now - (startedAt ?? now) <= FAILOVER.withinMs[operation];
    const isUsed = attempts >= FAILOVER.attempts || this.attempts >= FALLBACK.attempts;
    this.#isSpent = isUsed || !isInTime || !this.#retryBudget.take();
    return !this.#isSpent;
  }

  /** An account is tried. */
  countAttempt(): void {
    this.#group.attempts += 1;
    this.#group.startedAt ??= this.#clock.elapsed();
  }

  /** The same account gets the rest of a request of which its provider rejected a part: both are one attempt. */
  repeatAttempt(): void {
    this.#group.attempts -= 1;
  }

  /** A provider replied. A further request of the same call, such as the next round, begins anew. */
  renew(): void {
    this.#own = { attempts: 0, startedAt: undefined };
    this.#group = this.#own;
    this.#others = undefined;
    this.#callStartedAt = undefined;
  }

  #groupOf(groupId: string | undefined): GroupAttempts {
    if (groupId === undefined) return this.#own;
    this.#others ??= new Map();
    const group = this.#others.get(groupId) ?? { attempts: 0, startedAt: undefined };
    this.#others.set(groupId, group);
    return group;
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
