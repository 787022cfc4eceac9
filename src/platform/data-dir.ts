/**
 * The folder DATA_DIR: creates it, and checks that this process can write in it.
 * Never changes the mode or owner of an existing folder.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

export class DataDirError extends Error {}

/** Writes a file and removes it: modes alone do not show a read-only file system or a full disk. */
export async function prepareDataDir(path: string): Promise<void> {
  await createFolders(resolve(path), MODE).catch((error: NodeJS.ErrnoException) => {
    throw failure(path, 'cannot be created', error);
  });
  const probe = join(path, `.write-check-${randomBytes(6).toString('hex')}`);
  try {
    await writeFile(probe, '', { flag: 'wx' });
    await rm(probe);
  } catch (error) {
    throw failure(path, 'cannot be written', error as NodeJS.ErrnoException);
  }
}

/** Of the folder itself. As root, PostgreSQL runs as another user, who passes through it. */
const MODE = process.geteuid?.() === 0 ? 0o711 : 0o700;

/**
 * Level by level, because Node's recursive mkdir never ends on a file system that has no new folders, such as /proc.
 */
async function createFolders(path: string, mode?: number): Promise<void> {
  const isFolder = async (): Promise<boolean> => (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
  if (await isFolder()) return;
  if (dirname(path) !== path) await createFolders(dirname(path));
  await mkdir(path, mode).catch(async (error: NodeJS.ErrnoException) => {
    // Another process that starts now may have created it.
    if (error.code !== 'EEXIST' || !(await isFolder())) throw error;
  });
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'it is a file',
  ENOENT: 'its file system has no new folders',
};

function failure(path: string, what: string, error: NodeJS.ErrnoException): DataDirError {
  const isAbove = error.code === 'EEXIST' && error.path !== resolve(path);
  const reason = REASONS[isAbove ? 'ENOTDIR' : (error.code ?? '')] ?? error.message;
  const user = process.geteuid === undefined ? 'this user' : `user ${process.geteuid()}`;
  const next =
    error.code === 'ENOSPC' || error.code === 'EDQUOT'
      ? 'Free some space, or set DATA_DIR to a folder on another disk'
      : `Set DATA_DIR to a folder that ${user} can write, or change the permissions of this one`;
  return new DataDirError(`DATA_DIR ${resolve(path)} ${what}: ${reason}. ${next}.`, { cause: error });
}

/**
 * The folder of an embedded database outside DATA_DIR, which PostgreSQL's user may not enter.
 * Undefined when there is none.
 */
export async function databaseOutside(dataDir: string, cluster: string | undefined): Promise<string | undefined> {
  if (cluster === undefined || cluster === join(await realpath(dataDir), 'postgres')) return undefined;
  return dirname(cluster);
}
