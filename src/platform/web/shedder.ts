/**
 * Refusal of requests under overload. Watches the delay of the event loop and the memory of large bodies,
 * and decides for each request before anything of it is read.
 * Never queues: a refused client returns later, a queued one would only wait.
 */
import type { Clock } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';
import { type BodyBudget, SMALL_BODY_BYTES } from './body-budget.ts';

export interface ShedderOptions {
  readonly clock: Clock;
  readonly bodyBudget: Pick<BodyBudget, 'reservedBytes' | 'maxBytes'>;
  readonly endTurn?: () => void;
}

export class Shedder {
  /** Refused requests by priority, since the start. */
  readonly refused = new Map<rules.SheddablePriority, number>(rules.PRIORITIES.map((priority) => [priority, 0]));
  readonly #options: Required<ShedderOptions>;
  readonly #classes = new Map(
    rules.PRIORITIES.map((priority) => [priority, new AdmittedShare(rules.SHEDDING[priority].delayMs)]),
  );
  /** The latest delays in milliseconds, in a ring. */
  readonly #delays = new Float64Array(rules.SHED_WINDOW);
  #samples = 0;
  /** When the timer of the next sample should fire, and when the latest sample was recorded. */
  #dueAt = 0;
  #recordedAt = 0;
  #isStopped = false;
  #cancel: () => void = () => {};

  constructor(options: ShedderOptions) {
    this.#options = { endTurn: turnEnder(), ...options };
    this.#sample();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Without calls the event loop is in time. */
  pause(): void {
    this.#cancel();
    this.#dueAt = Number.POSITIVE_INFINITY;
    for (let n = 0; n < rules.SHED_WINDOW; n += 1) this.#record(0);
  }

  resume(): void {
    if (!this.#isStopped) this.#sample();
  }

  /**
   * Counts the request. `bodyBytes` is the announced length of its body, Infinity when it announces none.
   * `hasFew`: others have far more calls in flight than its caller, who is not refused because of theirs.
   */
  refuses(priority: rules.Priority, bodyBytes: number, hasFew = (): boolean => false): boolean {
    if (priority === 'never') return false;
    this.#sampleInTurn();
    const share = this.#classes.get(priority);
    const isLate = share?.isReduced === true && !hasFew() && share.refuses();
    const isRefused = isLate || !this.#hasRoom(priority, bodyBytes);
    if (isRefused) this.refused.set(priority, (this.refused.get(priority) ?? 0) + 1);
    return isRefused;
  }

  /** Small bodies take no part in the budget. A body of unknown length is refused only where there is no room left. */
  #hasRoom(priority: rules.SheddablePriority, bodyBytes: number): boolean {
    if (bodyBytes <= SMALL_BODY_BYTES) return true;
    const { reservedBytes, maxBytes } = this.#options.bodyBudget;
    const limit = maxBytes * rules.SHEDDING[priority].bodyShare;
    // A body above the limit of its endpoint gets its own error, and one alone always has its chance.
    if (reservedBytes === 0) return true;
    return Number.isFinite(bodyBytes) ? reservedBytes + bodyBytes <= limit : reservedBytes < limit;
  }

  #sample(): void {
    this.#dueAt = this.#options.clock.elapsed() + rules.SHED_SAMPLE_MS;
    this.#cancel = this.#options.clock.after(rules.SHED_SAMPLE_MS, () => {
      this.#record(Math.max(0, this.#options.clock.elapsed() - this.#dueAt));
      this.#sample();
    });
  }

  /** Within a long turn of the event loop no timer fires. */
  #sampleInTurn(): void {
    const now = this.#options.clock.elapsed();
    const lateMs = now - this.#dueAt;
    if (lateMs < rules.SHED_LONG_TURN_MS || now - this.#recordedAt < rules.SHED_SAMPLE_MS) return;
    this.#record(lateMs);
    this.#options.endTurn();
  }

  #record(delayMs: number): void {
    this.#recordedAt = this.#options.clock.elapsed();
    this.#delays[this.#samples % rules.SHED_WINDOW] = delayMs;
    this.#samples += 1;
    const recent = medianOf(this.#latest(rules.SHED_RECENT));
    // The long median is only needed to begin, and nothing begins while the latest samples are in time.
    const standing = recent <= LEAST_TARGET_MS || this.#samples < rules.SHED_WINDOW ? 0 : medianOf([...this.#delays]);
    for (const share of this.#classes.values()) share.adapt(standing, recent);
  }

  #latest(count: number): number[] {
    return Array.from(
      { length: Math.min(count, this.#samples) },
      (_, n) => this.#delays[(this.#samples - 1 - n) % rules.SHED_WINDOW] ?? 0,
    );
  }
}

const LEAST_TARGET_MS = rules.SHEDDING.list.delayMs * rules.SHED_TARGET_SHARE;

/** The part of the requests of one priority that is admitted: all of them until an overload begins. */
class AdmittedShare {
  readonly #delayMs: number;
  #share = 1;
  #credit = 0;

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  get isReduced(): boolean {
    return this.#share < 1;
  }

  refuses(): boolean {
    this.#credit += this.#share;
    if (this.#credit < 1) return true;
    this.#credit -= 1;
    return false;
  }

  adapt(standingMs: number, recentMs: number): void {
    const { start, shrink, grow, min } = rules.SHED_STEPS;
    if (this.#share === 1) {
      if (standingMs >= this.#delayMs) this.#share = start;
    } else if (recentMs > this.#delayMs * rules.SHED_TARGET_SHARE) this.#share = Math.max(min, this.#share * shrink);
    else this.#share = Math.min(1, this.#share * grow);
  }
}

/** Never handled: that it arrives is enough. The default of this signal is to do nothing. */
const SIGNAL = 'SIGURG';

/**
 * Where more than 1,024 sockets are ready, libuv reads the next ones in the same turn of the event loop,
 * up to 48 times. Meanwhile no timer fires and no new connection is read.
 * After a signal it ends the turn with the sockets that it has.
 */
function turnEnder(): () => void {
  if (process.platform === 'win32') return () => {};
  if (process.listenerCount(SIGNAL) === 0) process.on(SIGNAL, () => {});
  return () => void process.kill(process.pid, SIGNAL);
}

const medianOf = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** Seconds after which a refused client may return, spread at random. */
export const retrySeconds = (): number => {
  const { min, max } = rules.SHED_RETRY_SECONDS;
  return min + Math.floor(Math.random() * (max - min + 1));
};
