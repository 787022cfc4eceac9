/**
 * Calls that wait for a slot while every usable account of their group is full. Users take turns.
 * The wait and the queue are bounded, and a refusal says when room is expected.
 */
import { type Clock, entryOf } from '../../core/index.ts';
import { ACCOUNT_QUEUE } from '../../rules/index.ts';
import { CompletionRate } from './completion-rate.ts';
import type { Pool } from './pool.ts';

export interface QueuedCall {
  readonly groupId: string;
  readonly userId: string;
  /** The same for calls that can use the same accounts: when one of them cannot start, none can. */
  readonly needs: string;
  /** The longest wait of this call, where it is shorter than that of the queue. */
  readonly mostMs?: number | undefined;
  start(): boolean;
  /** `retryMs`: until there is room for the call, as far as it can be foreseen. */
  refuse(retryMs: number): void;
}

export interface AccountQueueOptions {
  readonly clock: Clock;
  readonly pool: Pool;
  /** The longest wait; 0 refuses at once. */
  readonly waitMs: number;
  /** Calls of one group. */
  readonly length?: number;
}

interface Waiting {
  readonly call: QueuedCall;
  readonly cancelTimer: () => void;
}

interface GroupQueue {
  /** Waiting calls by user; users in the order of their turns. */
  readonly users: Map<string, Set<Waiting>>;
  /** Waiting calls by what they need. */
  readonly needs: Map<string, number>;
  /** Those of `needs` that could not be met when calls were started last. */
  readonly unmet: Set<string>;
  length: number;
  /** Since when a call waits, without a gap. */
  readonly begunAt: number;
}

export class AccountQueue {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #length: number;
  readonly #groups = new Map<string, GroupQueue>();
  /** Of every group that has served a call. */
  readonly #rates = new Map<string, CompletionRate>();
  readonly #freed = new Set<string>();
  #isStarting = false;

  constructor({ clock, pool, waitMs, length = ACCOUNT_QUEUE.length }: AccountQueueOptions) {
    this.#clock = clock;
    this.#waitMs = waitMs;
    this.#length = length;
    pool.onEnded((groupId) => entryOf(this.#rates, groupId, () => new CompletionRate()).count(clock.elapsed()));
    pool.onFree((groupId) => this.#startNext(groupId));
  }

  /** Calls of the group that wait. A new call goes behind them, although a slot may be free for it. */
  waiting(groupId: string): number {
    return this.#groups.get(groupId)?.length ?? 0;
  }

  /** Until a further call of the group would have a slot, by the calls that wait and the rate at which calls end. */
  retryMs(groupId: string): number {
    const now = this.#clock.elapsed();
    const expected = this.#rates.get(groupId)?.msUntil(this.waiting(groupId) + 1, now);
    return Math.min(Math.max(expected ?? this.#waitMs, ACCOUNT_QUEUE.retryMs.min), ACCOUNT_QUEUE.retryMs.max);
  }

  /** The call waits. Returns a function that takes it out of the queue. */
  add(call: QueuedCall): () => void {
    const { groupId, userId, needs, mostMs = this.#waitMs } = call;
    const longestMs = Math.min(mostMs, this.#waitMs);
    if (this.#waitMs === 0 || this.#expectedMs(call) > longestMs || !this.#hasRoom(groupId, userId)) {
      call.refuse(this.retryMs(groupId));
      return () => {};
    }
    const group = entryOf(this.#groups, groupId, () => emptyQueue(this.#clock.elapsed()));
    const calls: Set<Waiting> = entryOf(group.users, userId, () => new Set());
    const waiting: Waiting = {
      call,
      cancelTimer: this.#clock.after(longestMs, () => this.#refuse(waiting)),
    };
    calls.add(waiting);
    group.needs.set(needs, (group.needs.get(needs) ?? 0) + 1);
    group.length += 1;
    this.#startNext(groupId);
    return () => this.#remove(waiting);
  }

  lengths(): { readonly groupId: string; readonly length: number }[] {
    return [...this.#groups].map(([groupId, { length }]) => ({ groupId, length }));
  }

  /** How long the call would wait at least: 0 unless accounts have been full for long. Users take turns, and those with few calls have few turns before theirs. */
  #expectedMs({ groupId, userId, needs }: QueuedCall): number {
    const now = this.#clock.elapsed();
    const group = this.#groups.get(groupId);
    if (!group || now - group.begunAt < ACCOUNT_QUEUE.knownAfterMs) return 0;
    const own = group.users.get(userId)?.size ?? 0;
    const turns = [...group.users.values()].reduce((sum, { size }) => sum + Math.min(size, own + 1), 0);
    const before = Math.min(turns, group.needs.get(needs) ?? 0);
    return this.#rates.get(groupId)?.msUntil(before, now) ?? 0;
  }

  /** In a full queue, the last call of the user with the most makes room for users with less. */
  #hasRoom(groupId: string, userId: string): boolean {
    const group = this.#groups.get(groupId);
    if (!group || group.length < this.#length) return true;
    const own = group.users.get(userId)?.size ?? 0;
    const most = [...group.users.values()].reduce((one, other) => (other.size > one.size ? other : one));
    const last = [...most].at(-1);
    if (most.size <= own + 1 || !last) return false;
    this.#refuse(last);
    return true;
  }

  #refuse(waiting: Waiting): void {
    const { call } = waiting;
    this.#remove(waiting);
    call.refuse(this.retryMs(call.groupId));
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
        this.#freed.delete(freed);
        this.#startCalls(freed);
      }
    } finally {
      this.#isStarting = false;
    }
  }

  /** One call of each user after the other, until nothing that waits has room. */
  #startCalls(groupId: string): void {
    const group = this.#groups.get(groupId);
    if (!group) return;
    group.unmet.clear();
    for (const [userId, calls] of group.users) {
      if (group.unmet.size === group.needs.size) return;
      const started = startFirst(calls, group.unmet);
      if (!started) continue;
      this.#remove(started);
      // Behind the others, where this loop comes to the user again.
      if (group.users.delete(userId)) group.users.set(userId, calls);
    }
  }

  #remove(waiting: Waiting): void {
    waiting.cancelTimer();
    const { groupId, userId, needs } = waiting.call;
    const group = this.#groups.get(groupId);
    const calls = group?.users.get(userId);
    if (!group || !calls?.delete(waiting)) return;
    group.length -= 1;
    const others = (group.needs.get(needs) ?? 1) - 1;
    if (others > 0) group.needs.set(needs, others);
    else {
      group.needs.delete(needs);
      group.unmet.delete(needs);
    }
    if (calls.size === 0) group.users.delete(userId);
    if (group.length === 0) this.#groups.delete(groupId);
  }
}

const emptyQueue = (begunAt: number): GroupQueue => ({
  users: new Map(),
  needs: new Map(),
  unmet: new Set(),
  length: 0,
  begunAt,
});

/** A call may need an account that is full while another call of the user does not. */
function startFirst(calls: ReadonlySet<Waiting>, unmet: Set<string>): Waiting | undefined {
  for (const waiting of calls) {
    const { call } = waiting;
    if (unmet.has(call.needs)) continue;
    if (call.start()) return waiting;
    unmet.add(call.needs);
  }
  return undefined;
}
