/** The migrations of a database beside those of this version, and whether this version can run on it. */
import { sql } from 'kysely';
import { isEarlier, version } from '../version.ts';
import { readMigrationFiles } from './migration-files.ts';
import type { Db, Tx } from './rows.ts';

export interface MigrationState {
  /** The migrations that the database has run, also those that this version does not know. */
  readonly done: readonly string[];
  /** The migrations of this version that the database lacks. */
  readonly missing: readonly string[];
  /** The migrations of later versions. */
  readonly unknown: readonly UnknownMigration[];
}

export interface UnknownMigration {
  readonly name: string;
  /** The oldest version that can run on the schema; undefined if the migration does not say. */
  readonly oldestVersion: string | undefined;
}

/** Changes nothing: without the tables of migrations, none was run. */
export async function readMigrationState(db: Db | Tx): Promise<MigrationState> {
  const run = await readRun(db);
  const known = (await readMigrationFiles()).map(({ name }) => name);
  return {
    done: run.map(({ name }) => name),
    missing: known.filter((name) => !run.some((one) => one.name === name)),
    unknown: run.filter(({ name }) => !known.includes(name)),
  };
}

/** A migration may be in both tables. */
async function readRun(db: Db | Tx): Promise<readonly UnknownMigration[]> {
  const { rows: tables } = await sql<{ early: boolean; declared: boolean }>`
    select to_regclass('kysely_migration') is not null as early, to_regclass('schema_versions') is not null as declared`.execute(
    db,
  );
  const [found] = tables;
  const early = found?.early ? (await sql<{ name: string }>`select name from kysely_migration`.execute(db)).rows : [];
  const declared = found?.declared
    ? await db.selectFrom('schema_versions').select(['migration', 'oldest_version']).execute()
    : [];
  const byName = new Map<string, string | undefined>(early.map(({ name }) => [name, undefined]));
  for (const { migration, oldest_version } of declared) byName.set(migration, oldest_version);
  return [...byName.keys()].sort().map((name) => ({ name, oldestVersion: byName.get(name) }));
}

/** Why this version cannot run on the database, with what to do; undefined if it can, perhaps after its own migrations. */
export function findRefusal({ missing, unknown }: MigrationState, own: string = version): string | undefined {
  const names = unknown.map(({ name }) => name).join(', ');
  if (unknown.length > 0 && missing.length > 0)
    return `The database has the migrations ${names}, which Dragoman ${own} does not know, and lacks ${missing.join(', ')}. Start a version that has all of them, or restore a backup of ${own}: ${PAGE}.`;
  if (unknown.some(({ oldestVersion }) => oldestVersion === undefined))
    return `The database was migrated by a later version, with ${names}. Start that version, or restore a backup of ${own}: ${PAGE}.`;
  const oldest = unknown.flatMap(({ oldestVersion = own }) => (isEarlier(own, oldestVersion) ? [oldestVersion] : []));
  if (oldest.length === 0) return undefined;
  const needed = oldest.reduce((latest, one) => (isEarlier(latest, one) ? one : latest));
  return `The database needs Dragoman ${needed} or later, because of ${names}; this is ${own}. Start ${needed}, or restore a backup of ${own}: ${PAGE}.`;
}

const PAGE = 'docs/runbook.md, "Go back"';

/** For operators, of a version that can run; undefined when it knows all migrations. */
export const newerSchemaNote = ({ unknown }: Pick<MigrationState, 'unknown'>): string | undefined =>
  unknown.length === 0
    ? undefined
    : `The schema of the database is newer than Dragoman ${version}, which can run on it. It does not know ${unknown
        .map(({ name, oldestVersion }) => `${name} (runs with ${oldestVersion} or later)`)
        .join(', ')}`;
