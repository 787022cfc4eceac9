/**
 * Whether connections keep their session. A pooler in transaction mode gives each transaction another one, so that
 * LISTEN and locks fail.
 */
import type { SeverableClient } from './client.ts';
import { connect } from './db.ts';

/**
 * A pooler that responds at this moment may have other clients, which take the session that the first connection had.
 */
const TRIES = 3;

/** True when two open connections were seen to use one session. */
export async function areSessionsShared(url: string): Promise<boolean> {
  const first = await connect(url);
  try {
    // A pooler makes up the number that it announces to its clients.
    if ((await backendOf(first)) === announcedBy(first)) return false;
    const second = await connect(url);
    try {
      for (let left = TRIES; left > 0; left -= 1)
        if ((await backendOf(first)) === (await backendOf(second))) return true;
      return false;
    } finally {
      await second.end();
    }
  } finally {
    await first.end();
  }
}

async function backendOf(client: SeverableClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}

const announcedBy = (client: SeverableClient): number =>
  (client as unknown as { readonly processID: number }).processID;
