/**
 * Advisory locks of processes. The application name carries the holder's process id, so that others see whether it is
 * alive.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { isProcessAlive } from '../../../core/index.ts';
import { ADVISORY_LOCK } from '../advisory-lock.ts';

/** `key` is the second key of the lock: other locks of the project use other numbers. */
export interface RoleLock {
  readonly key: number;
  readonly name: string;
}

/** PostgreSQL notices within milliseconds that a killed holder is gone; a second is ample. */
const DEAD_HOLDER_TIMEOUT_MS = 1_000;
const POLL_MS = 20;

export const holderName = ({ name }: RoleLock): string => `${name}:${process.pid}`;

/**
 * Undefined when the exclusive lock was acquired. Otherwise its holders: process ids, 0 for a connection that names
 * none.
 */
export async function tryRoleLock(client: Client, lock: RoleLock): Promise<readonly number[] | undefined> {
  const deadline = Date.now() + DEAD_HOLDER_TIMEOUT_MS;
  for (;;) {
    const { rows } = await client.query('select pg_try_advisory_lock($1, $2) as locked', [ADVISORY_LOCK, lock.key]);
    if (rows[0]?.locked === true) return undefined;
    const holders = await holdersOf(client, lock);
    if (holders.some((pid) => pid !== 0 && isProcessAlive(pid)) || Date.now() > deadline) return holders;
    await sleep(POLL_MS);
  }
}

/** A killed holder may be listed for a moment, until PostgreSQL notices that its connection is closed. */
async function holdersOf(client: Client, { key, name }: RoleLock): Promise<number[]> {
  const { rows } = await client.query(
    `select a.application_name as name
       from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.objsubid = 2 and l.classid = $1::oid and l.objid = $2::oid
        and l.database = (select oid from pg_database where datname = current_database()) and l.pid <> pg_backend_pid()`,
    [ADVISORY_LOCK, key],
  );
  return rows.map((row) => {
    const [holder, pid = ''] = String(row.name).split(':');
    return holder === name && /^\d+$/.test(pid) ? Number(pid) : 0;
  });
}
