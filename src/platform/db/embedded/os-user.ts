/**
 * The OS user that PostgreSQL runs as, because it refuses root, and what it can access. Never creates a user or changes
 * an owner.
 */
import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface OsUser {
  readonly uid: number;
  readonly gid: number;
}

/** The ids of `nobody` on nearly every Linux, if /etc/passwd does not list it. */
const NOBODY: OsUser = { uid: 65_534, gid: 65_534 };

const READ = 4;
const ENTER = 1;

/** Undefined for the user of this process. An existing cluster keeps its owner. */
export async function osUserFor(cluster: string): Promise<OsUser | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const owner = await stat(cluster).catch(() => undefined);
  return owner !== undefined && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : nobodyUser();
}

export async function canEnter(directory: string, osUser: OsUser | undefined): Promise<boolean> {
  if (osUser === undefined) return true;
  for (let here = directory; ; here = dirname(here)) {
    if (!allows(await stat(here), osUser, ENTER)) return false;
    if (here === dirname(here)) return true;
  }
}

export async function canRead(file: string, osUser: OsUser | undefined): Promise<boolean> {
  if (osUser === undefined) return true;
  return allows(await stat(file), osUser, READ) && (await canEnter(dirname(file), osUser));
}

async function nobodyUser(): Promise<OsUser> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const entry = passwd.match(/^nobody:[^:]*:(\d+):(\d+):/m);
  // macOS lists `nobody` as -2, which does not match and which spawn rejects; 65534 works there too.
  return entry === null ? NOBODY : { uid: Number(entry[1]), gid: Number(entry[2]) };
}

function allows(entry: Stats, osUser: OsUser, wanted: number): boolean {
  return ((entry.mode >> classShift(entry, osUser)) & wanted) === wanted;
}

/** Where the mode has the bits of the owner, of the group or of all others. */
function classShift(entry: Stats, osUser: OsUser): number {
  if (entry.uid === osUser.uid) return 6;
  return entry.gid === osUser.gid ? 3 : 0;
}
