/**
 * The operating-system account PostgreSQL runs under, and what that account may reach.
 * PostgreSQL refuses to run as root, so root hands it to an unprivileged account. Never creates an account and never
 * changes the owner of anything.
 */
import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface OsUser {
  readonly uid: number;
  readonly gid: number;
}

/** What `nobody` is on nearly every Linux when /etc/passwd does not say. */
const NOBODY: OsUser = { uid: 65_534, gid: 65_534 };

const READ = 4;
const ENTER = 1;

/** Null means: the account we already run under. An existing cluster keeps its owner, whoever that is. */
export async function osUserFor(cluster: string): Promise<OsUser | null> {
  if (process.geteuid?.() !== 0) return null;
  const owner = await stat(cluster).catch(() => null);
  return owner !== null && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : nobody();
}

export async function canEnter(directory: string, account: OsUser | null): Promise<boolean> {
  if (account === null) return true;
  for (let here = directory; ; here = dirname(here)) {
    if (!allows(await stat(here), account, ENTER)) return false;
    if (here === dirname(here)) return true;
  }
}

export async function canRead(file: string, account: OsUser | null): Promise<boolean> {
  if (account === null) return true;
  return allows(await stat(file), account, READ) && (await canEnter(dirname(file), account));
}

async function nobody(): Promise<OsUser> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const entry = passwd.match(/^nobody:[^:]*:(\d+):(\d+):/m);
  // macOS writes nobody as -2, which does not match and which spawn could not take: 65534 works there as well.
  return entry === null ? NOBODY : { uid: Number(entry[1]), gid: Number(entry[2]) };
}

function allows(entry: Stats, account: OsUser, wanted: number): boolean {
  const shift = entry.uid === account.uid ? 6 : entry.gid === account.gid ? 3 : 0;
  return ((entry.mode >> shift) & wanted) === wanted;
}
