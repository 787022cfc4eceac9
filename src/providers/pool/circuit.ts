/**
 * Failure counters of one circuit: an account for one model and kind of operation, or as a whole.
 * Opens by CIRCUIT in src/rules.
 */
import { CIRCUIT } from '../../rules/index.ts';

const SLOTS = 6;
const SLOT_MS = CIRCUIT.windowMs / SLOTS;

interface Slot {
  readonly start: number;
  attempts: number;
  failures: number;
}

export class Circuit {
  ejections = 0;
  #slots: Slot[] = [];
  #failuresInRow = 0;
  #lastFailureAt = Number.NEGATIVE_INFINITY;
  /** Undefined while the circuit is open, and before its first ejection. */
  #closedAt: number | undefined;

  succeed(now: number): void {
    this.#slot(now).attempts += 1;
    this.#failuresInRow = 0;
  }

  fail(now: number): boolean {
    const slot = this.#slot(now);
    slot.attempts += 1;
    slot.failures += 1;
    this.#failuresInRow += 1;
    this.#lastFailureAt = now;
    const attempts = this.#slots.reduce((sum, one) => sum + one.attempts, 0);
    const failures = this.#slots.reduce((sum, one) => sum + one.failures, 0);
    return (
      this.#failuresInRow >= CIRCUIT.failuresInRow ||
      (attempts >= CIRCUIT.minAttempts && failures >= attempts * CIRCUIT.failureShare)
    );
  }

  /** Opens the circuit and returns for how long. `random` is in [0, 1). */
  open(now: number, random: number): number {
    if (this.#closedAt !== undefined && now - this.#closedAt > CIRCUIT.forgetMs) this.ejections = 0;
    this.ejections += 1;
    this.#closedAt = undefined;
    this.#slots = [];
    const varied = CIRCUIT.ejectionMs * this.ejections * (1 + CIRCUIT.jitter * (2 * random - 1));
    return Math.min(CIRCUIT.maxEjectionMs, Math.round(varied));
  }

  openAs(ejections: number): void {
    this.ejections = Math.max(this.ejections, ejections);
    this.#closedAt = undefined;
    this.#slots = [];
  }

  close(now: number): void {
    this.#closedAt = now;
    this.#failuresInRow = 0;
    this.#slots = [];
  }

  /** The probe began well. The circuit closes, and the next failure opens it again. */
  closeOnTrial(now: number): void {
    this.close(now);
    this.#failuresInRow = CIRCUIT.failuresInRow - 1;
  }

  /** Recent failures in a row, as additional load. */
  penalty(now: number): number {
    return now - this.#lastFailureAt < CIRCUIT.penaltyMs ? this.#failuresInRow : 0;
  }

  /** True when nothing of it matters any more. */
  isIdle(now: number): boolean {
    const isForgotten = this.#closedAt === undefined ? this.ejections === 0 : now - this.#closedAt > CIRCUIT.forgetMs;
    return isForgotten && now - this.#lastFailureAt > CIRCUIT.windowMs;
  }

  #slot(now: number): Slot {
    this.#slots = this.#slots.filter(({ start }) => now - start < CIRCUIT.windowMs);
    const last = this.#slots.at(-1);
    if (last && now - last.start < SLOT_MS) return last;
    const slot = { start: now, attempts: 0, failures: 0 };
    this.#slots.push(slot);
    return slot;
  }
}
