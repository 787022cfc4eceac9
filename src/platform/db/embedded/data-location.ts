/**
 * The location of one embedded database: normally DATA_DIR itself. When the gateway runs as root and the user of
 * PostgreSQL cannot enter DATA_DIR, a separate folder that a pointer file in DATA_DIR names. Never deletes a database
 * and never uses a folder that another user created.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf, valueOfJson } from '../../../core/index.ts';
import { EmbeddedUnavailable } from './failure.ts';
import { canEnter, type OsUser, osUserFor } from './os-user.ts';
import { readIfExists } from './process.ts';

export interface DataLocation {
  /** Holds the cluster and, when they had to be copied, the binaries. */
  readonly directory: string;
  readonly cluster: string;
  readonly osUser: OsUser | undefined;
  readonly log: string;
  readonly lock: string;
  readonly password: string;
}

export type Notify = (message: string) => void;

/** Other users may pass through to the cluster but not list the folder. The files inside have stricter modes. */
const PASSABLE = 0o711;
/** More leftover folders than this indicate another problem. */
const MAX_LEFTOVERS = 100;

/** Call it under the lock of DATA_DIR: it decides once where a new database is created. */
export async function openDataLocation(dataDir: string, notify: Notify): Promise<DataLocation> {
  const directory = (await readPointer(dataDir)) ?? (await chooseDirectory(dataDir, notify));
  const cluster = join(directory, 'postgres');
  const osUser = await osUserFor(cluster);
  if (!(await canEnter(directory, osUser))) {
    throw new EmbeddedUnavailable(
      `PostgreSQL runs as user ${osUser?.uid}, which cannot enter ${directory}. ` +
        `Allow others to pass through the folders above it (chmod o+x).`,
    );
  }
  return { directory, cluster, osUser: osUser, ...filesIn(dataDir) };
}

/** Creates DATA_DIR and returns its real path, so that every spelling of it means the same database. */
export async function openDataDir(path: string): Promise<string> {
  const isRoot = process.geteuid?.() === 0;
  const created = await mkdir(path, { recursive: true, mode: isRoot ? PASSABLE : 0o700 });
  // The umask may have removed bits. An existing folder keeps the mode that its owner chose.
  if (created !== undefined && isRoot) await chmod(path, PASSABLE);
  return realpath(path);
}

export function filesIn(dataDir: string): Pick<DataLocation, 'lock' | 'log' | 'password'> {
  return {
    lock: join(dataDir, 'postgres.lock'),
    log: join(dataDir, 'postgres.log'),
    password: join(dataDir, 'postgres.password'),
  };
}

async function readPointer(dataDir: string): Promise<string | undefined> {
  const pointer = join(dataDir, 'postgres.location');
  const text = await readIfExists(pointer);
  if (text === undefined) return undefined;
  const directory = parsePointer(text);
  // Starting with an empty database instead would look as if all accounts and balances were lost.
  if (directory === undefined || !existsSync(directory)) {
    throw new EmbeddedUnavailable(
      `${pointer} points to ${directory ?? 'no folder'}, but there is no database. ` +
        `Restore that folder, or delete ${pointer} to start with an empty database.`,
    );
  }
  return directory;
}

function parsePointer(text: string): string | undefined {
  const pointer = valueOfJson(text);
  const named =
    typeof pointer === 'object' && pointer !== null && 'directory' in pointer ? pointer.directory : undefined;
  return typeof named === 'string' ? named : undefined;
}

async function chooseDirectory(dataDir: string, notify: Notify): Promise<string> {
  const cluster = join(dataDir, 'postgres');
  if (existsSync(cluster)) return dataDir;
  const osUser = await osUserFor(cluster);
  if (await canEnter(dataDir, osUser)) return dataDir;
  const directory = await createElsewhere(dataDir, osUser);
  await writeFile(join(dataDir, 'postgres.location'), `${JSON.stringify({ directory })}\n`);
  const warning = directory.startsWith('/var/lib/')
    ? ''
    : ', which the system may clean up: set DATABASE_URL to keep data';
  notify(
    `PostgreSQL does not run as root and its user cannot enter ${dataDir}: ` +
      `the database is kept in ${directory}${warning}.`,
  );
  return directory;
}

async function createElsewhere(dataDir: string, osUser: OsUser | undefined): Promise<string> {
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  for (const parent of ['/var/lib/dragoman', tmpdir(), '/tmp']) {
    if (!(await isUsable(parent, osUser))) continue;
    for (let count = 1; count <= MAX_LEFTOVERS; count++) {
      // A folder without a pointer to it is the database of a deleted DATA_DIR; a new DATA_DIR starts empty.
      const ownName = parent === '/var/lib/dragoman' ? name : `dragoman-${name}`;
      const directory = join(parent, count === 1 ? ownName : `${ownName}-${count}`);
      try {
        await mkdir(directory);
        await chmod(directory, PASSABLE);
        return directory;
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') break;
      }
    }
  }
  throw new EmbeddedUnavailable(
    `PostgreSQL does not run as root and its user cannot enter ${dataDir}. ` +
      'Run Dragoman as a regular user, set DATA_DIR to a folder that others may pass through, or set DATABASE_URL.',
  );
}

async function isUsable(parent: string, osUser: OsUser | undefined): Promise<boolean> {
  try {
    if ((await mkdir(parent, { recursive: true })) !== undefined) await chmod(parent, PASSABLE);
    const entry = await stat(parent);
    // Users with write access to the parent could replace the folder, unless it has the sticky bit like /tmp.
    const isReplaceable = (entry.mode & 0o022) !== 0 && (entry.mode & 0o1000) === 0;
    return entry.uid === 0 && !isReplaceable && (await canEnter(parent, osUser));
  } catch {
    return false;
  }
}
