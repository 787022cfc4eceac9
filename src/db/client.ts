/** A connection to PostgreSQL that can be cut, because a server behind a broken network neither responds nor closes it. */
import type { Socket } from 'node:net';
import pg from 'pg';
import { systemClock } from '../core/index.ts';

/** How long the server may take to confirm the end of a connection. */
const END_MS = 1_000;
/** The kernel notices a host that is gone ten seconds after this. It does not notice a process or relay that is silent. */
const KEEP_ALIVE_MS = 5_000;

export const TCP_OPTIONS = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS } as const;

export class SeverableClient extends pg.Client {
  /** Closes the socket at once. Running and queued statements reject. */
  sever(): void {
    this.#socket.destroy();
  }

  /** Closes the socket when nothing is sent or received for this long. */
  severAfterSilence(ms: number): void {
    this.#socket.setTimeout(ms, () => this.sever());
  }

  get isSevered(): boolean {
    return this.#socket.destroyed;
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const cancel = systemClock.after(END_MS, () => this.sever());
    this.once('end', cancel);
    if (!callback) return super.end();
    super.end(callback);
    return undefined;
  }

  get #socket(): Socket {
    return (this as unknown as { connection: { stream: Socket } }).connection.stream;
  }
}
