/**
 * Time limits of what is under way: one timer for all of them. It is set for the nearest limit; one that moves away is found out when
 * the timer fires. So a limit that is pushed back with every read, and hardly ever reached, costs a number.
 */
import { type Clock, IndexedList, type IndexedMember } from '../core/index.ts';

export interface HasDeadline extends IndexedMember {
  /** On the clock. May become later without a word; `Deadlines.nearer` must be told when it becomes earlier. */
  readonly deadline: number;
  /** It is past: takes itself out. */
  onDue(now: number): void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #waiting = new IndexedList<HasDeadline>();
  #timerFor = Number.POSITIVE_INFINITY;
  #cancelTimer: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  add(limited: HasDeadline): void {
    this.#waiting.add(limited);
    this.schedule(limited.deadline);
  }

  remove(limited: HasDeadline): void {
    this.#waiting.remove(limited);
    if (this.#waiting.size > 0) return;
    this.#cancelTimer();
    this.#timerFor = Number.POSITIVE_INFINITY;
  }

  schedule(due: number): void {
    if (due >= this.#timerFor) return;
    this.#cancelTimer();
    this.#timerFor = due;
    this.#cancelTimer = this.#clock.after(Math.max(0, due - this.#clock.now()), () => this.#look());
  }

  #look(): void {
    this.#timerFor = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    for (const limited of this.#waiting.all()) if (limited.deadline <= now) limited.onDue(now);
    this.schedule(
      this.#waiting.all().reduce((nearest, { deadline: due }) => Math.min(nearest, due), Number.POSITIVE_INFINITY),
    );
  }
}
