/**
 * The client's end of an answer: writes with back-pressure, keeps a silent stream alive with heartbeats of the right kind,
 * and gives up on a client that takes nothing. One clock tick looks after all open streams, so that an event costs no timer.
 */
import { type Clock, IndexedList, type IndexedMember } from '../core/index.ts';
import type { Call, ResponseWriter } from '../web/index.ts';

export interface ClientStreamLimits {
  readonly heartbeatMs: number;
  readonly stalledMs: number;
}

export interface ClientStreamOptions {
  /** A block for silent times; undefined where the format has none. */
  readonly heartbeat?: (() => string) | undefined;
  readonly onDrain: () => void;
  readonly onStalled: () => void;
}

/** So much must be taken within the time that a stalled client has; less fits into the buffers of a connection anyway. */
const PIECE_BYTES = 64 * 1024;

export class ClientStreams {
  readonly #clock: Clock;
  readonly #limits: ClientStreamLimits;
  readonly #open = new IndexedList<ClientStream>();
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, limits: ClientStreamLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  open(call: Pick<Call, 'response' | 'onClose'>, options: ClientStreamOptions): ClientStream {
    const outlet = new ClientStream(call.response, options, this.#clock);
    this.#open.add(outlet);
    call.onClose(() => this.#open.remove(outlet));
    this.#cancel ??= this.#tick();
    return outlet;
  }

  /** A body that is there as a whole. A large one goes in pieces, so that a client that takes nothing is told from a slow one. */
  send(call: Pick<Call, 'response' | 'onClose'>, text: string): void {
    const { response } = call;
    if (text.length <= PIECE_BYTES) return void response.end(text);
    const bytes = Buffer.from(text);
    let at = 0;
    const more = (): void => {
      while (at < bytes.length - PIECE_BYTES) {
        at += PIECE_BYTES;
        if (!outlet.write(bytes.subarray(at - PIECE_BYTES, at))) return;
      }
      if (!response.writableEnded) outlet.end(bytes.subarray(at));
    };
    const outlet = this.open(call, { onDrain: more, onStalled: () => response.destroy() });
    more();
  }

  get size(): number {
    return this.#open.size;
  }

  #tick(): () => void {
    return this.#clock.after(Math.max(10, this.#limits.heartbeatMs / 10), () => {
      const now = this.#clock.now();
      for (const outlet of this.#open.all()) outlet.checkTimeouts(now, this.#limits);
      this.#cancel = this.#open.size > 0 ? this.#tick() : undefined;
    });
  }
}

export class ClientStream implements IndexedMember {
  index = -1;
  readonly #response: ResponseWriter;
  readonly #options: ClientStreamOptions;
  readonly #clock: Clock;
  #lastAt: number;
  #blockedAt: number | undefined;
  /** The last characters written, as many as show whether an event is whole. */
  #tail = '\n\n';

  constructor(response: ResponseWriter, options: ClientStreamOptions, clock: Clock) {
    this.#response = response;
    this.#options = options;
    this.#clock = clock;
    this.#lastAt = clock.now();
  }

  /** False when the client is slower than the source; `onDrain` follows. */
  write(bytes: Buffer | string): boolean {
    this.#lastAt = this.#clock.now();
    this.#tail = tailOf(this.#tail, bytes);
    const ready = this.#response.write(bytes);
    if (!ready && this.#blockedAt === undefined) {
      this.#blockedAt = this.#lastAt;
      this.#response.once('drain', () => {
        this.#blockedAt = undefined;
        this.#options.onDrain();
      });
    }
    return ready;
  }

  end(bytes?: Buffer | string): void {
    this.#lastAt = this.#clock.now();
    this.#response.end(bytes);
  }

  /** Nothing of an event is half written. */
  get isAtBoundary(): boolean {
    return /(?:\n\n|\n\r\n|\r\r)$/.test(this.#tail);
  }

  checkTimeouts(now: number, { heartbeatMs, stalledMs }: ClientStreamLimits): void {
    // Nothing may be written after the end; the client still has to take what was.
    const blockedAt = this.#blockedAt ?? (this.#response.writableEnded ? this.#lastAt : undefined);
    if (blockedAt !== undefined) {
      if (now - blockedAt >= stalledMs) this.#options.onStalled();
      return;
    }
    const { heartbeat } = this.#options;
    if (heartbeat && now - this.#lastAt >= heartbeatMs && this.isAtBoundary) this.write(heartbeat());
  }
}

/** The blank line after an event may come in two writes. */
function tailOf(before: string, bytes: Buffer | string): string {
  const last = typeof bytes === 'string' ? bytes.slice(-3) : bytes.toString('latin1', Math.max(0, bytes.length - 3));
  return last.length < 3 ? (before + last).slice(-3) : last;
}
