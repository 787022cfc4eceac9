/**
 * The single-server role: an exclusive advisory lock on a connection of its own, whose application name carries the
 * process number so that a second server can say who has it.
 * Works on any PostgreSQL; the lock ends with its holder's connection, however that ends.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { connect } from './endpoint.ts';
import { holdLock } from './lock-connection.ts';
import { isAlive } from './process.ts';

export type ServerClaim = { release(): Promise<void> } | { takenBy: number };

/** "drag" in ASCII; the second number tells this lock from the launcher's. */
const LOCK_SPACE = 0x64726167;
const SERVER_LOCK = 2;

const NAME = 'dragoman-server';

/** PostgreSQL notices within milliseconds that a killed holder is gone; a second is ample. */
const DEAD_HOLDER_PATIENCE_MS = 1_000;
const LOOK_EVERY_MS = 20;

/** Claims the single-server role of this database; says which process has it when another live one does. */
export async function claimServer(url: string): Promise<ServerClaim> {
  const client = await connect(url, `${NAME}:${process.pid}`);
  try {
    const takenBy = await take(client);
    if (takenBy !== null) {
      await client.end();
      return { takenBy };
    }
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  const held = holdLock(client, () => claimAgain(url));
  let releasing: Promise<void> | null = null;
  const release = async () => {
    await (await held.letGo())?.end().catch(() => undefined);
  };
  return {
    release() {
      releasing ??= release();
      return releasing;
    },
  };
}

async function claimAgain(url: string): Promise<Client> {
  const client = await connect(url, `${NAME}:${process.pid}`);
  if ((await take(client)) === null) return client;
  await client.end();
  throw new Error('another server has the role now');
}

/** Null: the lock is ours. Otherwise the process that has it, 0 if its connection does not say. */
async function take(client: Client): Promise<number | null> {
  // If the machine of a server on the network loses power, its lock must not stay for the default of two hours.
  await client.query('set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3');
  const patience = Date.now() + DEAD_HOLDER_PATIENCE_MS;
  for (;;) {
    const got = await client.query('select pg_try_advisory_lock($1, $2) as got', [LOCK_SPACE, SERVER_LOCK]);
    if (got.rows[0]?.got === true) return null;
    const holder = await holderOf(client);
    if ((holder !== null && holder !== 0 && isAlive(holder)) || Date.now() > patience) return holder ?? 0;
    await sleep(LOOK_EVERY_MS);
  }
}

/** Null: nobody has it any more. */
async function holderOf(client: Client): Promise<number | null> {
  const found = await client.query(
    `select a.application_name as name
       from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.classid = $1::oid and l.objid = $2::oid
        and l.database = (select oid from pg_database where datname = current_database())`,
    [LOCK_SPACE, SERVER_LOCK],
  );
  if (found.rows.length === 0) return null;
  const [name, pid] = String(found.rows[0]?.name ?? '').split(':');
  return name === NAME && pid !== undefined && /^\d+$/.test(pid) ? Number(pid) : 0;
}
