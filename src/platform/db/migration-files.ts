/**
 * The files of migrations/. Each says which version of Dragoman is the oldest that can run on its schema, so that the
 * version before an upgrade can start again (docs/adr/0027-way-back.md).
 */
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { isReleaseVersion } from '../version.ts';

const FOLDER = new URL('../../../migrations/', import.meta.url);

/** The first version that a later one can be replaced by. Migrations of its own declare nothing. */
export const FIRST_WAY_BACK = { version: '0.2.0', migration: '0074' };

export interface MigrationFile {
  readonly name: string;
  readonly text: string;
  /** The oldest version that can run on the schema; undefined for migrations of the first way back and before. */
  readonly oldestVersion: string | undefined;
}

export class MigrationError extends Error {}

let reading: Promise<readonly MigrationFile[]> | undefined;

/** In their order. Read once: the files of the next version may replace these while the process runs. */
export function readMigrationFiles(): Promise<readonly MigrationFile[]> {
  reading ??= readFiles();
  return reading;
}

async function readFiles(): Promise<readonly MigrationFile[]> {
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (file) => {
      const name = basename(file, '.sql');
      const text = await readFile(new URL(file, FOLDER), 'utf8');
      return { name, text, oldestVersion: oldestVersionOf(name, text) };
    }),
  );
}

/** Reads the first line of a migration, such as "-- runs with: 0.2.0". */
export function oldestVersionOf(name: string, text: string): string | undefined {
  if (name < FIRST_WAY_BACK.migration) return undefined;
  const [, oldestVersion = ''] = /^-- runs with: (\S+)\n/.exec(text) ?? [];
  if (isReleaseVersion(oldestVersion)) return oldestVersion;
  throw new MigrationError(
    `migrations/${name}.sql: the first line is not "-- runs with: ${FIRST_WAY_BACK.version}"; name the oldest version that can run on its schema.`,
  );
}
