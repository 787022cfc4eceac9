/**
 * Responses on their way to clients: back-pressure, heartbeats, and disconnects.
 * One clock tick checks all, so an event costs no timer.
 */
import { type Clock, IndexedList, type IndexedMember } from '../../core/index.ts';
import type { Call, ResponseWriter } from './call.ts';

export interface ClientStreamLimits {
  readonly heartbeatMs: number;
  readonly stalledMs: number;
}

export interface ClientStreamOptions {
  /** Returns a block that keeps a silent stream alive; undefined where the format has none. */
  readonly heartbeat?: (() => string) | undefined;
  readonly onDrain: () => void;
}

/**
 * A client must read this much within `stalledMs`. Less fits into the socket buffers, so progress could not be seen.
 */
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
    const stream = new ClientStream(call.response, options, this.#clock);
    this.#open.add(stream);
    call.onClose(() => this.#open.remove(stream));
    this.#cancel ??= this.#tick();
    return stream;
  }

  /** Sends a complete body. A large one goes in pieces, so that a stalled client differs from a slow one. */
  send(call: Pick<Call, 'response' | 'onClose'>, text: string): void {
    const { response } = call;
    if (text.length <= PIECE_BYTES) return void response.end(text);
    const bytes = Buffer.from(text);
    let at = 0;
    const more = (): void => {
      while (at < bytes.length - PIECE_BYTES) {
        at += PIECE_BYTES;
        if (!stream.write(bytes.subarray(at - PIECE_BYTES, at))) return;
      }
      if (!response.writableEnded) stream.end(bytes.subarray(at));
    };
    const stream = this.open(call, { onDrain: more });
    more();
  }

  /** Calls `task` once after the time in which a silent stream gets a heartbeat. Returns a function that cancels it. */
  afterSilence(task: () => void): () => void {
    return this.#clock.after(this.#limits.heartbeatMs, task);
  }

  get size(): number {
    return this.#open.size;
  }

  #tick(): () => void {
    return this.#clock.after(Math.max(10, this.#limits.heartbeatMs / 10), () => {
      const now = this.#clock.elapsed();
      for (const stream of this.#open.all()) stream.checkTimeouts(now, this.#limits);
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
  /** The last characters written: enough to see whether an event is complete. */
  #tail = '\n\n';

  constructor(response: ResponseWriter, options: ClientStreamOptions, clock: Clock) {
    this.#response = response;
    this.#options = options;
    this.#clock = clock;
    this.#lastAt = clock.elapsed();
  }

  /** False when the client reads more slowly than the provider writes; `onDrain` follows. */
  write(bytes: Buffer | string): boolean {
    this.#tail = tailOf(this.#tail, bytes);
    return this.#afterWrite(this.#response.write(bytes));
  }

  /** Writes whole events to a WebSocket turn. */
  writeEvents(events: readonly string[]): boolean {
    let isReady = true;
    for (const event of events) isReady = this.#response.writeEvent?.(event) === true && isReady;
    return this.#afterWrite(isReady);
  }

  #afterWrite(isReady: boolean): boolean {
    this.#lastAt = this.#clock.elapsed();
    if (!isReady && this.#blockedAt === undefined) {
      this.#blockedAt = this.#lastAt;
      this.#response.once('drain', () => {
        this.#blockedAt = undefined;
        this.#options.onDrain();
      });
    }
    return isReady;
  }

  end(bytes?: Buffer | string): void {
    this.#lastAt = this.#clock.elapsed();
    this.#response.end(bytes);
  }

  /** True between two events: a heartbeat or an error event may be written. */
  get isAtBoundary(): boolean {
    return /(?:\n\n|\n\r\n|\r\r)$/.test(this.#tail);
  }

  checkTimeouts(now: number, { heartbeatMs, stalledMs }: ClientStreamLimits): void {
    // After the end no heartbeat is due, but the client still has to read what was written.
    const blockedAt = this.#blockedAt ?? (this.#response.writableEnded ? this.#lastAt : undefined);
    if (blockedAt !== undefined) {
      if (now - blockedAt >= stalledMs) this.#response.destroy();
      return;
    }
    const { heartbeat } = this.#options;
    if (heartbeat && now - this.#lastAt >= heartbeatMs && this.isAtBoundary) this.write(heartbeat());
  }
}

/** Keeps three characters, because the blank line after an event may come in two writes. */
function tailOf(before: string, bytes: Buffer | string): string {
  const last = typeof bytes === 'string' ? bytes.slice(-3) : bytes.toString('latin1', Math.max(0, bytes.length - 3));
  return last.length < 3 ? (before + last).slice(-3) : last;
}
