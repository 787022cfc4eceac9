/**
 * The folder of the unix socket: short, because a socket path over about 100 bytes is refused, and closed to every
 * account but PostgreSQL's (and root), because whoever reaches the socket is let in without a password.
 * Never trusts a folder of that name that somebody else made.
 */
import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readdir, readFile, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedUnavailable } from './failure.ts';
import { canEnter, type OsUser } from './os-user.ts';
import { errorCode, isAlive } from './process.ts';

/** The port is only a part of the socket's name: nothing listens on the network. */
export const SOCKET_PORT = 5432;

const SOCKET_FILE = `.s.PGSQL.${SOCKET_PORT}`;
/** The strictest limit is 103 bytes (macOS); the rest is room for the lock file's name. */
const LONGEST_PATH = 90;
/** Names tried before giving up: a second one is needed only if somebody took the first. */
const MOST_NAMES = 20;

/** `stale` is the number of the cluster's last postmaster if that left its files behind. */
export async function openSocketDir(cluster: string, account: OsUser | null, stale: number | null): Promise<string> {
  const parent = await shortParent(account);
  for (let count = 0; count < MOST_NAMES; count++) {
    const name = createHash('sha256')
      .update(`${cluster}${count === 0 ? '' : `#${count}`}`)
      .digest('hex')
      .slice(0, 8);
    const directory = join(parent, `dg-${name}`);
    if ((await makeOwn(directory, account)) && (await isFree(directory, stale))) return directory;
  }
  throw new EmbeddedUnavailable(
    `No folder for the socket of PostgreSQL could be made in ${parent}. ` +
      'Delete the folders there that start with dg-, or set TMPDIR.',
  );
}

/** Leaves it in place when it is not empty, or not ours to remove. */
export async function removeSocketDir(directory: string): Promise<void> {
  await rmdir(directory).catch(() => undefined);
}

async function shortParent(account: OsUser | null): Promise<string> {
  const wanted = tmpdir();
  const longest = join(wanted, 'dg-00000000', SOCKET_FILE);
  const fits = Buffer.byteLength(longest) <= LONGEST_PATH;
  return fits && (await canEnter(wanted, account).catch(() => false)) ? wanted : '/tmp';
}

async function makeOwn(directory: string, account: OsUser | null): Promise<boolean> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    if (!(await isOwn(directory, account))) return false;
  }
  await chmod(directory, 0o700);
  if (account !== null) await chown(directory, account.uid, account.gid);
  return true;
}

/** Root's own empty one counts: a start that was killed before it could hand the folder over. */
async function isOwn(directory: string, account: OsUser | null): Promise<boolean> {
  const entry = await lstat(directory);
  if (!entry.isDirectory()) return false;
  if (entry.uid === (account?.uid ?? process.geteuid?.())) return true;
  return account !== null && entry.uid === 0 && (await readdir(directory)).length === 0;
}

/**
 * Whether PostgreSQL will take the socket here over. It removes what dead processes left; we never do, because a
 * postmaster that a killed starter launched may be making its socket at this moment.
 */
async function isFree(directory: string, stale: number | null): Promise<boolean> {
  const lock = await readFile(join(directory, `${SOCKET_FILE}.lock`), 'utf8').catch(() => null);
  if (lock === null) return true;
  const pid = Number.parseInt(lock, 10);
  return pid === stale || (pid > 0 && !isAlive(pid));
}
