/**
 * Where the files of one embedded database live: normally in DATA_DIR itself; when root runs us and the account of
 * PostgreSQL cannot enter DATA_DIR, in a folder of its own that a pointer file in DATA_DIR names.
 * Owns that choice; never deletes a database and never takes a folder that somebody else made.
 */
import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedUnavailable } from './failure.ts';
import { canEnter, type OsUser, osUserFor } from './os-user.ts';
import { errorCode } from './process.ts';

export interface DataLocation {
  /** Holds the cluster and, when they had to be copied, the binaries. */
  readonly directory: string;
  readonly cluster: string;
  readonly account: OsUser | null;
  readonly log: string;
  readonly lock: string;
  readonly password: string;
}

export type Notify = (sentence: string) => void;

/** Others may pass through to the cluster but not list; what is inside guards itself with modes of its own. */
const PASSABLE = 0o711;
/** More leftovers than this mean that something else is wrong. */
const MOST_LEFTOVERS = 100;

/** Must run under the lock of DATA_DIR: it decides once where a new database goes. */
export async function openDataLocation(dataDir: string, say: Notify): Promise<DataLocation> {
  const directory = (await pointedAt(dataDir)) ?? (await chooseDirectory(dataDir, say));
  const cluster = join(directory, 'postgres');
  const account = await osUserFor(cluster);
  if (!(await canEnter(directory, account))) {
    throw new EmbeddedUnavailable(
      `PostgreSQL runs as user ${account?.uid}, which cannot enter ${directory}. ` +
        `Allow others to pass through the folders above it (chmod o+x).`,
    );
  }
  return { directory, cluster, account, ...filesIn(dataDir) };
}

/** The real path, so that every process and every spelling of DATA_DIR means the same database. */
export async function openDataDir(path: string): Promise<string> {
  const root = process.geteuid?.() === 0;
  const made = await mkdir(path, { recursive: true, mode: root ? PASSABLE : 0o700 });
  // The process's umask may have taken the bits away again; only a folder we have just made is ours to change.
  if (made !== undefined && root) await chmod(path, PASSABLE);
  return realpath(path);
}

export function filesIn(dataDir: string): Pick<DataLocation, 'lock' | 'log' | 'password'> {
  return {
    lock: join(dataDir, 'postgres.lock'),
    log: join(dataDir, 'postgres.log'),
    password: join(dataDir, 'postgres.password'),
  };
}

async function pointedAt(dataDir: string): Promise<string | null> {
  const pointer = join(dataDir, 'postgres.location');
  const text = await readFile(pointer, 'utf8').catch((error) => {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const directory = directoryIn(text);
  // Starting empty instead would look like every account and every balance had vanished.
  if (directory === null || !(await exists(directory))) {
    throw new EmbeddedUnavailable(
      `${pointer} says that the database is in ${directory ?? 'a folder it does not name'}, ` +
        `which is not there. Put it back, or delete ${pointer} to start with an empty database.`,
    );
  }
  return directory;
}

function directoryIn(text: string): string | null {
  try {
    const pointer: unknown = JSON.parse(text);
    const named = typeof pointer === 'object' && pointer !== null && 'directory' in pointer ? pointer.directory : null;
    return typeof named === 'string' ? named : null;
  } catch {
    return null;
  }
}

async function chooseDirectory(dataDir: string, say: Notify): Promise<string> {
  const cluster = join(dataDir, 'postgres');
  if (await exists(cluster)) return dataDir;
  const account = await osUserFor(cluster);
  if (await canEnter(dataDir, account)) return dataDir;
  const directory = await makeElsewhere(dataDir, account);
  await writeFile(join(dataDir, 'postgres.location'), `${JSON.stringify({ directory })}\n`);
  const lasting = directory.startsWith('/var/lib/')
    ? ''
    : ', which the system may empty: set DATABASE_URL to keep data';
  say(
    `PostgreSQL does not run as root and its user cannot enter ${dataDir}: ` +
      `the database is kept in ${directory}${lasting}.`,
  );
  return directory;
}

async function makeElsewhere(dataDir: string, account: OsUser | null): Promise<string> {
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  for (const parent of ['/var/lib/dragoman', tmpdir(), '/tmp']) {
    if (!(await isUsable(parent, account))) continue;
    for (let count = 1; count <= MOST_LEFTOVERS; count++) {
      // A folder of that name without a pointer to it is a database whose DATA_DIR was deleted: a fresh one is meant.
      const directory = join(
        parent,
        `${parent === '/var/lib/dragoman' ? '' : 'dragoman-'}${name}${count === 1 ? '' : `-${count}`}`,
      );
      try {
        await mkdir(directory);
        await chmod(directory, PASSABLE);
        return directory;
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') break;
      }
    }
  }
  throw new EmbeddedUnavailable(
    `PostgreSQL does not run as root and its user cannot enter ${dataDir}. ` +
      'Run Dragoman as an ordinary user, point DATA_DIR to a folder others may pass through, or set DATABASE_URL.',
  );
}

async function isUsable(parent: string, account: OsUser | null): Promise<boolean> {
  try {
    if ((await mkdir(parent, { recursive: true })) !== undefined) await chmod(parent, PASSABLE);
    const entry = await stat(parent);
    // Whoever may write to the parent could exchange our folder, unless the sticky bit forbids it as in /tmp.
    const exchangeable = (entry.mode & 0o022) !== 0 && (entry.mode & 0o1000) === 0;
    return entry.uid === 0 && !exchangeable && (await canEnter(parent, account));
  } catch {
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
