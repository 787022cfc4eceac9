/** Memory for large request bodies: a bound for the whole process, so that many uploads at once cannot exhaust it. */
import { fail } from '../core/index.ts';

/** The part of the budget that one body takes. */
export interface BodyReservation {
  /** Takes the bytes before they are kept; throws `server_is_overloaded` when they do not fit. */
  add(bytes: number): void;
  /** Gives everything back. Idempotent. */
  release(): void;
}

export class BodyBudget {
  readonly #maxBytes: number;
  #reserved = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Counts bytes as they arrive, not as they are announced: a client that sends nothing must not block the others. */
  open(): BodyReservation {
    let held = 0;
    let isOpen = true;
    return {
      add: (bytes) => {
        // Bytes may still arrive after the request was rejected; nothing would release them.
        if (!isOpen || this.#reserved + bytes > this.#maxBytes)
          throw fail('server_is_overloaded', 'Too many large requests are being received. Try again shortly.', {
            retryAfter: 1,
          });
        this.#reserved += bytes;
        held += bytes;
      },
      release: () => {
        this.#reserved -= held;
        held = 0;
        isOpen = false;
      },
    };
  }

  get reservedBytes(): number {
    return this.#reserved;
  }
}
