/** Rate limits of all workers of a machine: the primary counts, and the workers ask it (primary-limiter.ts). */
import type { Clock } from '../core/index.ts';
import type { LimitScope, LimitUsage, Slot } from './limiter.ts';
import { LocalLimiter } from './local-limiter.ts';

export interface TakeQuestion {
  /** Unique among the slots of the worker. */
  readonly id: number;
  readonly scopes: readonly LimitScope[];
}

export interface TakeReply {
  readonly isAdmitted: boolean;
  /** By scope. */
  readonly used: readonly LimitUsage[];
}

export interface TokenNotice {
  readonly scopes: readonly LimitScope[];
  readonly tokens: number;
}

/** The part of the book that one worker uses. */
export interface LimitPage {
  take(question: TakeQuestion): TakeReply;
  release(id: number): void;
  count(notice: TokenNotice): void;
  /** The worker has ended, and with it all of its requests. */
  close(): void;
}

export class LimitBook {
  readonly #limiter: LocalLimiter;

  constructor(clock: Clock) {
    this.#limiter = new LocalLimiter(clock);
  }

  openPage(): LimitPage {
    const slots = new Map<number, Slot>();
    const release = (id: number): void => {
      slots.get(id)?.release();
      slots.delete(id);
    };
    return {
      take: ({ id, scopes }) => {
        const { slot, used } = this.#limiter.tryTake(scopes);
        if (slot) slots.set(id, slot);
        return {
          isAdmitted: slot !== undefined,
          used: used.map(({ requests, tokens, open }) => ({ requests, tokens, open })),
        };
      },
      release,
      count: ({ scopes, tokens }) => this.#limiter.countTokens(scopes, tokens),
      close: () => {
        for (const id of [...slots.keys()]) release(id);
      },
    };
  }
}
