/**
 * A connection kept open for the sake of the session-level lock it carries. When it breaks (PostgreSQL crashed or was
 * stopped), it is acquired again until it is let go.
 * Never keeps the process alive by itself, and never decides what the lock means.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';

export interface LockConnection {
  /** Ends the keeping; the connection, if there is one at this moment, now belongs to the caller. */
  letGo(): Promise<Client | null>;
}

/** Quick at first, for a restart takes about 100 ms; then at ease, for whatever is wrong now will stay for a while. */
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

export function holdLock(first: Client, again: () => Promise<Client>): LockConnection {
  const letting = new AbortController();
  let current: Client | null = null;
  let regaining: Promise<void> = Promise.resolve();

  const keep = (client: Client): void => {
    current = client;
    setReferenced(client, false);
    client.once('end', () => {
      if (current !== client) return;
      current = null;
      if (!letting.signal.aborted) regaining = regain();
    });
  };

  const regain = async (): Promise<void> => {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      await sleep(wait, undefined, { signal: letting.signal, ref: false }).catch(() => undefined);
      if (letting.signal.aborted) return;
      const client = await again().catch(() => null);
      if (client !== null) return keep(client);
    }
  };

  keep(first);
  return {
    async letGo() {
      letting.abort();
      await regaining;
      const client = current;
      current = null;
      if (client !== null) setReferenced(client, true);
      return client;
    },
  };
}

/** pg has ref and unref on its client, its types do not. */
function setReferenced(client: Client, referenced: boolean): void {
  const counted = client as Client & { ref(): void; unref(): void };
  if (referenced) counted.ref();
  else counted.unref();
}
