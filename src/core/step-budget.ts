/**
 * The work that one body may cause, in steps of bounded cost: a JSON value, a box, a frame or a sample of media. Everything that reads the
 * same body in one job counts into one budget, so that many small parts cost no more than one large part.
 */
import { REQUEST_LIMITS } from '../rules/index.ts';
import { fail } from './errors.ts';

export class StepBudget {
  readonly #max: number;
  #taken = 0;

  constructor(max: number = REQUEST_LIMITS.steps) {
    this.#max = max;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Throws beyond the budget: the request is refused, whatever was being read. */
  take(steps = 1): void {
    this.#taken += steps;
    if (this.#taken > this.#max)
      throw fail(
        'request_too_complex',
        `The request has more than ${this.#max} values, and boxes, frames and samples of its media, together; send fewer or shorter media.`,
      );
  }
}
