/** The count of a load: how its requests ended, and how long they took. */
import type { Client } from './client.ts';
import { quantile } from './quantile.ts';

/** Times are in ms. A quantile of nothing is NaN, and arrives as null. */
export interface LoadReport {
  /** Responses with status 200. */
  readonly requests: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Responses of overload, which count as failures, too. */
  readonly refused: number;
  readonly refusedP50: number;
  readonly refusedP99: number;
  readonly failures: number;
  /** The beginning of the first response that was not 200, or the reason why there was none. */
  readonly failure?: string | undefined;
  /** Requests without a response. */
  readonly silent: number;
  /** Requests that an open loop could not send. */
  readonly lost: number;
  /** 99th percentile of how late an open loop was: what it adds to every time above. */
  readonly lateP99: number;
  /** The first responses of connections, from the start. */
  readonly answered: number;
  readonly firstP50: number;
  readonly firstMax: number;
  /** In which requests were sent; without an open loop, until the last response. */
  readonly seconds: number;
}

const REFUSALS = [429, 503, 529];

export class Tally {
  readonly #start = performance.now();
  readonly #served: number[] = [];
  readonly #refused: number[] = [];
  readonly #firsts: number[] = [];
  readonly #late: number[] = [];
  readonly #answered = new WeakSet<Client>();
  #failures = 0;
  #silent = 0;
  #failure: string | undefined;
  lost = 0;

  get ms(): number {
    return performance.now() - this.#start;
  }

  add(client: Client, status: number): void {
    const took = performance.now() - client.startedAt;
    if (!this.#answered.has(client)) this.#firsts.push(this.ms);
    this.#answered.add(client);
    if (status === 200) this.#served.push(took);
    else this.#fail(client.text);
    if (REFUSALS.includes(status)) this.#refused.push(took);
  }

  addSilent(why: string): void {
    this.#silent += 1;
    this.#fail(why);
  }

  addLateness(ms: number): void {
    this.#late.push(ms);
  }

  #fail(why: string): void {
    this.#failures += 1;
    this.#failure ??= why;
  }

  report(ms = this.ms): LoadReport {
    for (const times of [this.#served, this.#refused, this.#firsts, this.#late]) times.sort((a, b) => a - b);
    return {
      requests: this.#served.length,
      p50: quantile(this.#served, 0.5),
      p99: quantile(this.#served, 0.99),
      max: this.#served.at(-1) ?? Number.NaN,
      refused: this.#refused.length,
      refusedP50: quantile(this.#refused, 0.5),
      refusedP99: quantile(this.#refused, 0.99),
      failures: this.#failures,
      failure: this.#failure,
      silent: this.#silent,
      lost: this.lost,
      lateP99: quantile(this.#late, 0.99),
      answered: this.#firsts.length,
      firstP50: quantile(this.#firsts, 0.5),
      firstMax: this.#firsts.at(-1) ?? Number.NaN,
      seconds: ms / 1_000,
    };
  }
}
