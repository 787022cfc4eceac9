/** Memory for large request bodies: a bound for the whole process, so that many uploads at once cannot exhaust it. */
import { fail } from '../core/index.ts';
import type { Call } from './call.ts';

export class BodyBudget {
  readonly #maxBytes: number;
  #reserved = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Reserves the declared size of the body, or `limit` when it is unknown, until the call is closed. */
  reserve(call: Call, limit: number): void {
    const { headers } = call.request;
    const isDeclared = headers['content-length'] !== undefined && headers['content-encoding'] === undefined;
    const bytes = isDeclared ? Math.min(Number(headers['content-length']), limit) : limit;
    if (this.#reserved + bytes > this.#maxBytes)
      throw fail('server_is_overloaded', 'Too many large requests are being received. Try again shortly.', {
        retryAfter: 1,
      });
    this.#reserved += bytes;
    call.onClose(() => {
      this.#reserved -= bytes;
    });
  }

  get reservedBytes(): number {
    return this.#reserved;
  }
}
