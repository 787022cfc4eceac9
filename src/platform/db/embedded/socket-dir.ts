/**
 * The folder of the unix socket. Its path is short, because systems limit socket paths to about 100 bytes. Only the
 * user of PostgreSQL and root can enter it, because the socket accepts connections without a password; access-rules.ts
 * says whose. Never uses a folder that another user created.
 */
import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, readdir, readFile, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf, isProcessAlive } from '../../../core/index.ts';
import { EmbeddedUnavailable } from './failure.ts';
import { canEnter, type OsUser } from './os-user.ts';

/** Only part of the name of the socket: nothing listens on the network. */
export const SOCKET_PORT = 5432;

const SOCKET_FILE = `.s.PGSQL.${SOCKET_PORT}`;
/** The strictest limit is 103 bytes (macOS), less room for the name of the lock file. */
const LONGEST_PATH = 90;
/** Names to try. A second one is needed only if another user has taken the first. */
const MAX_NAMES = 20;

/** `stale` is the process id of the last postmaster, if it left its files behind. */
export async function openSocketDir(
  cluster: string,
  osUser: OsUser | undefined,
  stale: number | undefined,
): Promise<string> {
  const parent = await shortParent(osUser);
  for (let count = 0; count < MAX_NAMES; count++) {
    const name = createHash('sha256')
      .update(`${cluster}${count === 0 ? '' : `#${count}`}`)
      .digest('hex')
      .slice(0, 8);
    const directory = join(parent, `dg-${name}`);
    if ((await createOwn(directory, osUser)) && (await isFree(directory, stale))) return directory;
  }
  throw new EmbeddedUnavailable(
    `No folder for the socket of PostgreSQL could be made in ${parent}. ` +
      'Delete the folders there that start with dg-, or set TMPDIR.',
  );
}

/** Leaves a folder that is not empty, or that belongs to another user. */
export async function removeSocketDir(directory: string): Promise<void> {
  await rmdir(directory).catch(() => undefined);
}

async function shortParent(osUser: OsUser | undefined): Promise<string> {
  const preferred = tmpdir();
  const longest = join(preferred, 'dg-00000000', SOCKET_FILE);
  const fits = Buffer.byteLength(longest) <= LONGEST_PATH;
  return fits && (await canEnter(preferred, osUser).catch(() => false)) ? preferred : '/tmp';
}

async function createOwn(directory: string, osUser: OsUser | undefined): Promise<boolean> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    if (!(await isOwn(directory, osUser))) return false;
  }
  await chmod(directory, 0o700);
  if (osUser !== undefined) await chown(directory, osUser.uid, osUser.gid);
  return true;
}

/** An empty folder of root counts as own: a start was killed before it changed the owner. */
async function isOwn(directory: string, osUser: OsUser | undefined): Promise<boolean> {
  const entry = await lstat(directory);
  if (!entry.isDirectory()) return false;
  if (entry.uid === (osUser?.uid ?? process.geteuid?.())) return true;
  return osUser !== undefined && entry.uid === 0 && (await readdir(directory)).length === 0;
}

/**
 * Whether PostgreSQL can create its socket here. PostgreSQL removes the socket of a dead process itself. The launcher
 * never does: a postmaster whose starter was killed may be creating its socket at this moment.
 */
async function isFree(directory: string, stale: number | undefined): Promise<boolean> {
  const lock = await readFile(join(directory, `${SOCKET_FILE}.lock`), 'utf8').catch(() => undefined);
  if (lock === undefined) return true;
  const pid = Number.parseInt(lock, 10);
  return pid === stale || (pid > 0 && !isProcessAlive(pid));
}
