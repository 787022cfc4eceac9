/**
 * A connection that is kept open for the session-level lock it holds. When it breaks, because PostgreSQL crashed or was
 * stopped, the lock is acquired again until it is released. Never keeps the process alive by itself, and does not know
 * what the lock means.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';

/** Short at first, because a restart takes about 100 ms; then longer, because other causes last a while. */
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

export class LockConnection {
  readonly #reacquire: () => Promise<Client>;
  readonly #releasing = new AbortController();
  #current: Client | undefined;
  #reacquiring: Promise<void> = Promise.resolve();

  constructor(client: Client, reacquire: () => Promise<Client>) {
    this.#reacquire = reacquire;
    this.#keep(client);
  }

  /** Stops keeping the lock. The open connection, if there is one at this moment, now belongs to the caller. */
  async release(): Promise<Client | undefined> {
    this.#releasing.abort();
    await this.#reacquiring;
    const client = this.#current;
    this.#current = undefined;
    if (client) setReferenced(client, true);
    return client;
  }

  #keep(client: Client): void {
    this.#current = client;
    setReferenced(client, false);
    client.once('end', () => {
      if (this.#current !== client) return;
      this.#current = undefined;
      if (!this.#releasing.signal.aborted) this.#reacquiring = this.#retry();
    });
  }

  async #retry(): Promise<void> {
    const { signal } = this.#releasing;
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(waitMs * 2, LAST_RETRY_MS)) {
      await sleep(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      const client = await this.#reacquire().catch(() => undefined);
      if (client) return this.#keep(client);
    }
  }
}

/** pg has ref() and unref() on its client, but its types do not. */
function setReferenced(client: Client, isReferenced: boolean): void {
  const socket = client as Client & { ref(): void; unref(): void };
  if (isReferenced) socket.ref();
  else socket.unref();
}
