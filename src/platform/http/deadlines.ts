/**
 * Deadlines of exchanges, with one timer for the nearest.
 * An idle timeout that moves with every read costs one assignment.
 */
import { type Clock, IndexedList, type IndexedMember } from '../../core/index.ts';

export interface HasDeadline extends IndexedMember {
  /** Time of the clock in milliseconds. May move later freely; call `Deadlines.schedule` when it moves earlier. */
  readonly deadline: number;
  /** The deadline has passed. The entry must remove itself. */
  onDeadline(now: number): void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #pending = new IndexedList<HasDeadline>();
  #timerFor = Number.POSITIVE_INFINITY;
  #cancelTimer: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.elapsed();
  }

  add(entry: HasDeadline): void {
    this.#pending.add(entry);
    this.schedule(entry.deadline);
  }

  remove(entry: HasDeadline): void {
    this.#pending.remove(entry);
    if (this.#pending.size > 0) return;
    this.#cancelTimer();
    this.#timerFor = Number.POSITIVE_INFINITY;
  }

  schedule(deadline: number): void {
    if (deadline >= this.#timerFor) return;
    this.#cancelTimer();
    this.#timerFor = deadline;
    this.#cancelTimer = this.#clock.after(Math.max(0, deadline - this.#clock.elapsed()), () => this.#check());
  }

  #check(): void {
    this.#timerFor = Number.POSITIVE_INFINITY;
    const now = this.#clock.elapsed();
    for (const entry of this.#pending.all()) if (entry.deadline <= now) entry.onDeadline(now);
    this.schedule(
      this.#pending.all().reduce((nearest, { deadline }) => Math.min(nearest, deadline), Number.POSITIVE_INFINITY),
    );
  }
}
