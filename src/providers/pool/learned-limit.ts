/**
 * How many calls at once a provider takes of an account whose operator names no number, learned from its refusals:
 * each burst of refusals halves it, each success lets it grow, and it is forgotten when it is not needed any more.
 */
import type { Clock } from '../../core/index.ts';
import { type FaultKind, LEARNED_LIMIT } from '../../rules/index.ts';

/** By these a provider says that it has too much to do. */
const REFUSALS: ReadonlySet<FaultKind> = new Set(['rate_limited', 'overloaded']);

export class LearnedLimit {
  readonly #clock: Clock;
  #learned: { calls: number; readonly refusedAt: number; readonly since: number } | undefined;
  /** Raised by each lesson: what was sent before it says nothing new. */
  #lesson = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined while the provider takes what it gets. */
  get calls(): number | undefined {
    if (this.#learned && this.#clock.elapsed() - this.#learned.since >= LEARNED_LIMIT.forgetMs) this.forget();
    return this.#learned && Math.floor(this.#learned.calls);
  }

  /** A call begins. Its end takes the fault and the calls that were in flight until then, this one included. */
  begin(): (fault: FaultKind | undefined, inFlight: number) => void {
    const lesson = this.#lesson;
    return (fault, inFlight) => {
      if (fault === undefined) this.#grow();
      else if (REFUSALS.has(fault) && lesson === this.#lesson) this.#shrink(inFlight);
    };
  }

  forget(): void {
    this.#learned = undefined;
  }

  /** With few calls in flight, their number is not what the provider has too much of. */
  #shrink(inFlight: number): void {
    if (inFlight < LEARNED_LIMIT.fewCalls) return;
    this.#lesson += 1;
    const calls = inFlight * LEARNED_LIMIT.shrink;
    this.#learned = { calls, refusedAt: inFlight, since: this.#clock.elapsed() };
  }

  #grow(): void {
    if (!this.#learned) return;
    this.#learned.calls += LEARNED_LIMIT.growth;
    if (this.#learned.calls >= this.#learned.refusedAt * LEARNED_LIMIT.forgottenAt) this.forget();
  }
}
