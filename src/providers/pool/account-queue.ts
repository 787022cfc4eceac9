/**
 * Calls that wait for a slot while every usable account of their group is full.
 * Users take turns; a wait is short and the queue bounded.
 */
import { type Clock, entryOf } from '../../core/index.ts';
import { ACCOUNT_QUEUE } from '../../rules/index.ts';
import type { Pool } from './pool.ts';

export interface QueuedCall {
  readonly groupId: string;
  readonly userId: string;
  /** The same for calls that can use the same accounts: when one of them cannot start, none can. */
  readonly needs: string;
  start(): boolean;
  refuse(): void;
}

export interface AccountQueueOptions {
  readonly clock: Clock;
  readonly pool: Pool;
  /** The longest wait; 0 refuses at once. */
  readonly waitMs: number;
}

interface Waiting {
  readonly call: QueuedCall;
  readonly cancelTimer: () => void;
}

/** Waiting calls by user; users in the order of their turns. */
type GroupQueue = Map<string, Set<Waiting>>;

export class AccountQueue {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #groups = new Map<string, GroupQueue>();
  readonly #freed = new Set<string>();
  #isStarting = false;

  constructor({ clock, pool, waitMs }: AccountQueueOptions) {
    this.#clock = clock;
    this.#waitMs = waitMs;
    pool.onFree((groupId) => this.#startNext(groupId));
  }

  /** Calls of the group that wait. A new call goes behind them, although a slot may be free for it. */
  waiting(groupId: string): number {
    return [...(this.#groups.get(groupId)?.values() ?? [])].reduce((sum, calls) => sum + calls.size, 0);
  }

  /** The call waits. Returns a function that takes it out of the queue. */
  add(call: QueuedCall): () => void {
    const { groupId, userId } = call;
    if (this.#waitMs === 0 || this.waiting(groupId) >= ACCOUNT_QUEUE.length) {
      call.refuse();
      return () => {};
    }
    const group: GroupQueue = entryOf(this.#groups, groupId, () => new Map());
    const calls: Set<Waiting> = entryOf(group, userId, () => new Set());
    const waiting: Waiting = {
      call,
      cancelTimer: this.#clock.after(this.#waitMs, () => {
        this.#remove(waiting);
        call.refuse();
      }),
    };
    calls.add(waiting);
    this.#startNext(groupId);
    return () => this.#remove(waiting);
  }

  lengths(): { readonly groupId: string; readonly length: number }[] {
    return [...this.#groups.keys()].map((groupId) => ({ groupId, length: this.waiting(groupId) }));
  }

  /**
   * Starts calls while their accounts have room.
   * A call that frees its slot at once must not start the queue a second time.
   */
  #startNext(groupId: string): void {
    if (!this.#groups.has(groupId)) return;
    this.#freed.add(groupId);
    if (this.#isStarting) return;
    this.#isStarting = true;
    try {
      for (const freed of this.#freed) {
        const unmet = new Set<string>();
        while (this.#startRound(freed, unmet)) {}
        this.#freed.delete(freed);
      }
    } finally {
      this.#isStarting = false;
    }
  }

  /** Starts at most one call of each user, and puts that user behind the others. False when none could start. */
  #startRound(groupId: string, unmet: Set<string>): boolean {
    const group = this.#groups.get(groupId);
    let hasStarted = false;
    for (const [userId, calls] of [...(group ?? [])]) {
      // A call may need an account that is full while another call of the user does not.
      const started = [...calls].find(({ call }) => {
        if (unmet.has(call.needs)) return false;
        const hasRoom = call.start();
        if (!hasRoom) unmet.add(call.needs);
        return hasRoom;
      });
      if (!started) continue;
      hasStarted = true;
      this.#remove(started);
      if (group?.delete(userId)) group.set(userId, calls);
    }
    return hasStarted;
  }

  #remove(waiting: Waiting): void {
    waiting.cancelTimer();
    const { groupId, userId } = waiting.call;
    const group = this.#groups.get(groupId);
    const calls = group?.get(userId);
    calls?.delete(waiting);
    if (calls?.size === 0) group?.delete(userId);
    if (group?.size === 0) this.#groups.delete(groupId);
  }
}
