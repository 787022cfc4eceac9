/**
 * The work that one request may cause, in steps of bounded cost, on the event loop
 * and in threads: many small parts cost no more than one large part.
 */
import { REQUEST_LIMITS } from '../rules/index.ts';
import { fail } from './errors.ts';

export class StepBudget {
  readonly max: number;
  taken: number;

  constructor(max: number = REQUEST_LIMITS.steps, taken = 0) {
    this.max = max;
    this.taken = taken;
  }

  /** Throws beyond the budget: the request is refused, whatever was being read. */
  take(steps = 1): void {
    this.taken += steps;
    if (this.taken <= this.max) return;
    const counted = `${this.max} values, and boxes, frames and samples of its media, together`;
    throw fail('request_too_complex', `The request has more than ${counted}; send fewer or shorter media.`);
  }
}
