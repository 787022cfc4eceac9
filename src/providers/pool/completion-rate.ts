/** How fast calls end, from those of the last seconds: what a client that finds no room is told to wait. */

/** The ends of this time and of the one before count. */
const SPAN_MS = 10_000;
/** Ends of one moment say nothing about a rate. */
const LEAST_MS = 1_000;

export class CompletionRate {
  #begunAt = Number.NEGATIVE_INFINITY;
  #spanAt = Number.NEGATIVE_INFINITY;
  #before = 0;
  #ended = 0;

  count(now: number): void {
    this.#advance(now);
    this.#ended += 1;
  }

  /** Milliseconds until so many more have ended. Undefined when none has ended lately. */
  msUntil(more: number, now: number): number | undefined {
    this.#advance(now);
    const ended = this.#before + this.#ended;
    const seenMs = Math.max(LEAST_MS, now - Math.max(this.#begunAt, this.#spanAt - SPAN_MS));
    return ended === 0 ? undefined : (more * seenMs) / ended;
  }

  #advance(now: number): void {
    const ageMs = now - this.#spanAt;
    if (ageMs < SPAN_MS) return;
    const isLongAgo = ageMs >= 2 * SPAN_MS;
    if (isLongAgo) this.#begunAt = now;
    this.#before = isLongAgo ? 0 : this.#ended;
    this.#spanAt = isLongAgo ? now : this.#spanAt + SPAN_MS;
    this.#ended = 0;
  }
}
