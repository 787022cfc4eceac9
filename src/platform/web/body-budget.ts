/** Memory for request bodies: one bound for the process, against many uploads at once, and a share for each owner. */
import { type ApiError, fail, overloaded } from '../../core/index.ts';

/** The part of the budget that one body takes. */
export interface BodyReservation {
  /**
   * Takes the bytes before they are kept; throws `server_is_overloaded` or `rate_limit_exceeded` when they do not fit.
   */
  add(bytes: number): void;
  /** Gives everything back. Idempotent. */
  release(): void;
}

/** Memory that is used as long as no body needs it. */
export interface SpareMemory {
  readonly bytes: number;
  /** Gives it all up. */
  drop(): void;
}

/** An owner may hold one of this many parts while there is room, unless another share is given. */
const SHARES = 8;
/**
 * And so many times what is free: one owner alone takes three quarters, two three sevenths each, and something is
 * always left for the next one.
 */
const TIMES_FREE = 3;
/** Bodies up to this size pass as long as there is room, whatever their owner holds. */
export const SMALL_BODY_BYTES = 256 * 1024;

export class BodyBudget {
  readonly maxBytes: number;
  reservedBytes = 0;
  readonly #shareBytes: number;
  /** Bytes of each owner that holds any. */
  readonly #owned = new Map<string, number>();
  /** Counts too, and goes first. */
  spare: SpareMemory | undefined;

  /**
   * The part of one of several processes: room for two of the largest bodies,
   * and one of them for one owner if the whole budget has it.
   */
  static ofWorker(totalBytes: number, workers: number, largestBytes: number): BodyBudget {
    const maxBytes = Math.min(totalBytes, Math.max(Math.ceil(totalBytes / workers), 2 * largestBytes));
    return new BodyBudget(maxBytes, Math.max(maxBytes / SHARES, Math.min(largestBytes, totalBytes / SHARES)));
  }

  /** `shareBytes`: what one owner may hold although others hold most. */
  constructor(maxBytes: number, shareBytes = maxBytes / SHARES) {
    this.maxBytes = maxBytes;
    this.#shareBytes = shareBytes;
  }

  /**
   * Counts bytes as they arrive, not as announced: a silent client must not block others.
   * Owner: a key, or an address before it.
   */
  open(owner: string): BodyReservation {
    let held = 0;
    let isOpen = true;
    return {
      add: (bytes) => {
        // Bytes may still arrive after the request was rejected; nothing would release them.
        const rejection = isOpen ? this.#rejectionOf(bytes, owner, held) : isFull();
        if (rejection) throw rejection;
        this.#change(owner, bytes);
        held += bytes;
      },
      release: () => {
        this.#change(owner, -held);
        held = 0;
        isOpen = false;
      },
    };
  }

  #rejectionOf(bytes: number, owner: string, held: number): ApiError | undefined {
    const total = this.reservedBytes + bytes;
    if (this.spare && total + this.spare.bytes > this.maxBytes) this.spare.drop();
    if (total > this.maxBytes) return isFull();
    if (held + bytes <= SMALL_BODY_BYTES) return undefined;
    const owned = (this.#owned.get(owner) ?? 0) + bytes;
    const share = Math.max(this.#shareBytes, TIMES_FREE * (this.maxBytes - total));
    return owned > share ? shareIsTaken() : undefined;
  }

  #change(owner: string, bytes: number): void {
    this.reservedBytes += bytes;
    const owned = (this.#owned.get(owner) ?? 0) + bytes;
    if (owned > 0) this.#owned.set(owner, owned);
    else this.#owned.delete(owner);
  }
}

const isFull = (): ApiError => overloaded('Too many large requests are being received. Try again shortly.', 1);

const shareIsTaken = (): ApiError =>
  fail(
    'rate_limit_exceeded',
    'The large requests of this API key fill its share of this server; send fewer at a time.',
    { retryAfter: 1 },
  );
