/**
 * The single-server role: an exclusive advisory lock on a dedicated connection. Its application name carries the
 * process id, so that a second server can report which process has the role. Works on any PostgreSQL. The lock ends
 * with the connection of its holder.
 */
import type { Client } from 'pg';
import { connectEmbedded } from './endpoint.ts';
import { LockConnection } from './lock-connection.ts';
import { holderName, tryRoleLock } from './role-lock.ts';

export type ServerClaim = { release(): Promise<void> } | { takenBy: number };

const SERVER = { key: 2, name: 'dragoman-server' } as const;

/** Claims the single-server role of the database, or returns the id of the live process that has it. */
export async function claimServer(url: string): Promise<ServerClaim> {
  const claimed = await claim(url);
  if (typeof claimed === 'number') return { takenBy: claimed };
  const lock = new LockConnection(claimed, async () => {
    const again = await claim(url);
    if (typeof again === 'number') throw new Error('another server has the role now');
    return again;
  });
  let releasing: Promise<void> | undefined;
  return {
    release() {
      releasing ??= lock.release().then((client) => client?.end().catch(() => undefined));
      return releasing;
    },
  };
}

/** A connection with the lock. Otherwise the process that has it, or 0 if its connection does not name one. */
async function claim(url: string): Promise<Client | number> {
  const client = await connectEmbedded(url, holderName(SERVER));
  try {
    // If the host of a remote server loses power, its lock must not stay for the default keepalive of two hours.
    await client.query('set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3');
    const holders = await tryRoleLock(client, SERVER);
    if (!holders) return client;
    await client.end();
    return holders[0] ?? 0;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}
