import type { Nanos } from '../../core/index.ts';
import { ApiError, fail } from '../../core/index.ts';

/** The rejection of a call that the balance does not cover. */
export class InsufficientBalance extends ApiError {
  /** What the balance covers, reservations of other calls deducted; undefined when it was not read. */
  readonly available: Nanos | undefined;

  constructor(available: Nanos | undefined, message?: string, param?: string) {
    const { code, message: usual } = fail('insufficient_balance');
    super(code, message ?? usual, param === undefined ? {} : { param });
    this.available = available;
  }
}

/** The rejection of a call when it stays unknown in time whether the balance covers it. */
export const balanceUnavailable = (cause?: unknown): ApiError =>
  fail('server_is_overloaded', 'The balance is temporarily unavailable; retry shortly.', { retryAfter: 1, cause });
