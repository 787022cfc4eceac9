/**
 * The single-server role: an exclusive advisory lock on a dedicated connection. Its application name carries the process id, so that
 * a second server can report which process has the role.
 * Works on any PostgreSQL. The lock ends with the connection of its holder.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { isProcessAlive } from '../../../core/index.ts';
import { ADVISORY_LOCK } from '../advisory-lock.ts';
import { connectEmbedded } from './endpoint.ts';
import { LockConnection } from './lock-connection.ts';

export type ServerClaim = { release(): Promise<void> } | { takenBy: number };

/** The second key of the lock: other locks of the project use other numbers. */
const SERVER_LOCK = 2;

const NAME = 'dragoman-server';

/** PostgreSQL notices within milliseconds that a killed holder is gone; a second is ample. */
const DEAD_HOLDER_TIMEOUT_MS = 1_000;
const POLL_MS = 20;

/** Claims the single-server role of the database, or returns the id of the live process that has it. */
export async function claimServer(url: string): Promise<ServerClaim> {
  const client = await connectEmbedded(url, `${NAME}:${process.pid}`);
  try {
    const takenBy = await tryLock(client);
    if (takenBy !== undefined) {
      await client.end();
      return { takenBy };
    }
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  const lock = new LockConnection(client, () => claimAgain(url));
  let releasing: Promise<void> | undefined;
  const release = async (): Promise<void> => {
    await (await lock.release())?.end().catch(() => undefined);
  };
  return {
    release() {
      releasing ??= release();
      return releasing;
    },
  };
}

async function claimAgain(url: string): Promise<Client> {
  const client = await connectEmbedded(url, `${NAME}:${process.pid}`);
  if ((await tryLock(client)) === undefined) return client;
  await client.end();
  throw new Error('another server has the role now');
}

/** Undefined when the lock was acquired. Otherwise the process that has it, or 0 if its connection does not name one. */
async function tryLock(client: Client): Promise<number | undefined> {
  // If the host of a remote server loses power, its lock must not stay for the default keepalive of two hours.
  await client.query('set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3');
  const deadline = Date.now() + DEAD_HOLDER_TIMEOUT_MS;
  for (;;) {
    const { rows } = await client.query('select pg_try_advisory_lock($1, $2) as locked', [ADVISORY_LOCK, SERVER_LOCK]);
    if (rows[0]?.locked === true) return undefined;
    const holder = await holderOf(client);
    const isHolderAlive = holder !== undefined && holder !== 0 && isProcessAlive(holder);
    if (isHolderAlive || Date.now() > deadline) return holder ?? 0;
    await sleep(POLL_MS);
  }
}

/** The process that has the lock; undefined when it was released meanwhile. */
async function holderOf(client: Client): Promise<number | undefined> {
  const { rows } = await client.query(
    `select a.application_name as name
       from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.classid = $1::oid and l.objid = $2::oid
        and l.database = (select oid from pg_database where datname = current_database())`,
    [ADVISORY_LOCK, SERVER_LOCK],
  );
  if (rows.length === 0) return undefined;
  const [name, pid] = String(rows[0]?.name ?? '').split(':');
  return name === NAME && pid !== undefined && /^\d+$/.test(pid) ? Number(pid) : 0;
}
