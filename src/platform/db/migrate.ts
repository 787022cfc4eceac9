/** Runs migrations/*.sql in order, forward only. Replicas that start at once wait for the lock of the first. */
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Migration, type MigrationResultSet, Migrator } from 'kysely/migration';
import { errorText } from '../../core/index.ts';
import { openDatabase } from './db.ts';
import { DatabaseUnavailable } from './pool.ts';
import type { Db } from './rows.ts';

const FOLDER = new URL('../../../migrations/', import.meta.url);

export class MigrationError extends Error {}

/** An index over a large table takes minutes to build. */
const STATEMENT_MS = 3_600_000;

/** How long a session whose connection was lost may take to end. */
const LOOK_MS = 60_000;
const LOOKS = 5;
const LOOK_PAUSE_MS = 1_000;
/** The advisory lock of the migrator, which a migration holds until it is over. */
const MIGRATOR_LOCK = 3_853_314_791_062_309_107n;

/** Returns the migrations that were run. Looks first itself: the migrator would read the catalogue of the whole database. */
export const migrate = (url: string): Promise<string[]> =>
  runMigrations(url, async (migrator, db) => ((await isCurrent(db)) ? {} : migrator.migrateToLatest()));

/** As `migrate`, up to and including the named migration: brings an empty database to the schema of an earlier version. */
export const migrateTo = (url: string, name: string): Promise<string[]> =>
  runMigrations(url, (migrator) => migrator.migrateTo(name), name);

/** Uses connections of its own, because its statements may take long. */
async function runMigrations(
  url: string,
  run: (migrator: Migrator, db: Db) => Promise<MigrationResultSet>,
  last?: string,
): Promise<string[]> {
  const own = openDatabase(url, 1, { statementMs: STATEMENT_MS });
  try {
    const { missing } = await readMigrationState(own.db);
    const { error, results = [] } = await run(migratorOf(own.db), own.db);
    if (isLoss(error)) {
      const wanted = missing.filter((name) => last === undefined || name <= last);
      return await findOutcome(url, wanted, error);
    }
    if (error) throw new MigrationError(explain(error), { cause: error });
    return results.map((result) => result.migrationName);
  } finally {
    await own.close();
  }
}

/** The migrator reports what it could not do afterwards with the connection, in place of its loss. */
const isLoss = (error: unknown): error is Error =>
  error instanceof DatabaseUnavailable ||
  (error instanceof Error && /connection has been discarded/.test(error.message));

/** What became of migrations whose connection was lost: the last message that was lost may have been that of their commit. */
async function findOutcome(url: string, wanted: string[], cause: Error): Promise<string[]> {
  const loss = cause instanceof DatabaseUnavailable ? cause.message : 'The database connection was lost.';
  const done = await readWhenOver(url).catch((error: unknown) => {
    throw new MigrationError(
      `${loss} Whether the migration was committed is unknown (${errorText(error)}). Run it again when the database responds: it runs what is missing.`,
      { cause },
    );
  });
  const missing = wanted.filter((name) => !done.includes(name));
  if (missing.length === 0) return wanted;
  const found = wanted.filter((name) => done.includes(name));
  const outcome =
    found.length === 0
      ? 'The migration was rolled back'
      : `The database has ${found.join(', ')}, and lacks ${missing.join(', ')}`;
  throw new MigrationError(`${loss} ${outcome}. Run it again.`, { cause });
}

/** The migrations that the database has once no session migrates it. */
async function readWhenOver(url: string): Promise<readonly string[]> {
  for (let left = LOOKS; ; left -= 1) {
    const own = openDatabase(url, 1, { statementMs: LOOK_MS });
    try {
      return await own.db.transaction().execute(async (tx) => {
        await sql`select pg_advisory_xact_lock(${MIGRATOR_LOCK})`.execute(tx);
        return (await readMigrationState(tx)).done;
      });
    } catch (error) {
      if (left === 1) throw error;
      await sleep(LOOK_PAUSE_MS);
    } finally {
      await own.close();
    }
  }
}

/** True when every migration of this version has been run. */
export const isMigrated = async (db: Db): Promise<boolean> => (await readMigrationState(db)).missing.length === 0;

/** True when the database has exactly the migrations of this version. */
async function isCurrent(db: Db): Promise<boolean> {
  const { done, missing } = await readMigrationState(db);
  return missing.length === 0 && done.length === Object.keys(await readMigrations()).length;
}

export interface MigrationState {
  /** The migrations that the database has run, also those that this version does not know. */
  readonly done: readonly string[];
  /** The migrations of this version that the database lacks. */
  readonly missing: readonly string[];
}

/** Changes nothing: without a table of migrations, none was run. */
export async function readMigrationState(db: Db): Promise<MigrationState> {
  const { rows: tables } = await sql<{ found: boolean }>`
    select to_regclass('kysely_migration') is not null as found`.execute(db);
  const { rows } = tables[0]?.found
    ? await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
    : { rows: [] };
  const done = rows.map(({ name }) => name);
  return { done, missing: Object.keys(await readMigrations()).filter((name) => !done.includes(name)) };
}

const migratorOf = (db: Db): Migrator => new Migrator({ db, provider: { getMigrations: readMigrations } });

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).sort();
  const migrations = files.map(async (file): Promise<[string, Migration]> => {
    const text = await readFile(new URL(file, FOLDER), 'utf8');
    return [basename(file, '.sql'), { up: async (db) => void (await sql.raw(text).execute(db)) }];
  });
  return Object.fromEntries(await Promise.all(migrations));
}

function explain(error: unknown): string {
  const message = errorText(error);
  return message.includes('is missing')
    ? `The database was migrated by a newer version of Dragoman; start that version. (${message})`
    : `A migration failed and was rolled back: ${message}`;
}
