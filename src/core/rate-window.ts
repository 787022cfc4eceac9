/**
 * What a limit per minute has used, in cells of up to 100 ms that count whole until their
 * last unit is 60 s old, as the scripts in Redis count: at most 601 cells.
 */

export const WINDOW_MS = 60_000;
const CELL_MS = 100;
/** In which a limit of requests admits no more than its burst. */
const BURST_MS = 1_000;
/** A wait for requests in flight, whose end is unknown. */
export const OPEN_RETRY_MS = 1_000;
/** Requests that may start together while nothing is known about the tokens that they use. */
export const FIRST_REQUESTS = 10;

/** The use of a limit, as headers and rejections report it. */
export interface WindowUse {
  /** Units of the last 60 s. */
  readonly used: number;
  /** Until one more request fits; 0 when it fits now. */
  readonly waitMs: number;
  /** Until nothing is used any more. */
  readonly resetMs: number;
}

/** Every `now` is that of a clock that is never set back. */
export class RateWindow {
  readonly #cells: { readonly start: number; last: number; units: number; events: number }[] = [];
  #units = 0;
  #events = 0;
  /** Of the window at its last event; kept while no event follows. */
  #mean: number | undefined;

  add(units: number, now: number): void {
    this.used(now);
    let cell = this.#cells.at(-1);
    if (!cell || now - cell.start >= CELL_MS) {
      cell = { start: now, last: now, units: 0, events: 0 };
      this.#cells.push(cell);
    }
    cell.last = now;
    cell.units += units;
    cell.events += 1;
    this.#units += units;
    this.#events += 1;
    this.#mean = this.#units / this.#events;
  }

  /** Units of the last 60 s. */
  used(now: number): number {
    for (let cell = this.#cells[0]; cell && cell.last <= now - WINDOW_MS; cell = this.#cells[0]) {
      this.#cells.shift();
      this.#units -= cell.units;
      this.#events -= cell.events;
    }
    return this.#units;
  }

  /** Requests: one more must fit the limit and the burst. */
  requestUse(rpm: number, burst: number, now: number): WindowUse {
    const use = this.#use(rpm - 1, now);
    return burst < rpm ? { ...use, waitMs: Math.max(use.waitMs, this.#burstWait(burst - 1, now)) } : use;
  }

  /**
   * Tokens: they are known at the end of a request, so those in
   * flight, and one more, count with the mean until then.
   */
  tokenUse(tpm: number, open: number, now: number): WindowUse {
    const max = tpm - (open + 1) * this.expected(tpm);
    const use = this.#use(Math.max(0, max), now);
    return max < 0 ? { ...use, waitMs: Math.max(use.waitMs, OPEN_RETRY_MS) } : use;
  }

  /** The tokens of a request whose use is not known yet. */
  expected(tpm: number): number {
    return this.#mean === undefined ? tpm / FIRST_REQUESTS : Math.min(this.#mean, tpm);
  }

  /** Waits until at most `max` units are left. */
  #use(max: number, now: number): WindowUse {
    const used = this.used(now);
    let left = used;
    let waitMs = 0;
    for (const { last, units } of this.#cells) {
      if (left <= max) break;
      left -= units;
      waitMs = last + WINDOW_MS - now;
    }
    const newest = this.#cells.at(-1);
    return { used, waitMs, resetMs: newest ? newest.last + WINDOW_MS - now : 0 };
  }

  /** Until at most `max` units are of the last second. */
  #burstWait(max: number, now: number): number {
    let sum = 0;
    for (const { last, units } of this.#cells.toReversed()) {
      sum += units;
      if (last <= now - BURST_MS) break;
      if (sum > max) return last + BURST_MS - now;
    }
    return 0;
  }
}
