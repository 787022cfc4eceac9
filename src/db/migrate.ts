/** Runs migrations/*.sql in order, forward only. Replicas that start at once wait for the lock of the first. */
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { type Db, openDatabase } from './db.ts';

const FOLDER = new URL('../../migrations/', import.meta.url);

export class MigrationError extends Error {}

/** An index over a large table takes minutes to build. */
const STATEMENT_MS = 3_600_000;

/** Returns the names of the migrations that were run. Uses connections of its own, because its statements may take long. */
export async function migrate(url: string): Promise<string[]> {
  const own = openDatabase(url, 1, { statementMs: STATEMENT_MS });
  try {
    const { error, results = [] } = await migratorOf(own.db).migrateToLatest();
    if (error) throw new MigrationError(explain(error), { cause: error });
    return results.map((result) => result.migrationName);
  } finally {
    await own.close();
  }
}

/** True when every migration of this version has been run. */
export async function isMigrated(db: Db): Promise<boolean> {
  const migrations = await migratorOf(db).getMigrations();
  return migrations.every(({ executedAt }) => executedAt !== undefined);
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
  const message = error instanceof Error ? error.message : String(error);
  return message.includes('is missing')
    ? `The database was migrated by a newer version of Dragoman; start that version. (${message})`
    : `A migration failed and was rolled back: ${message}`;
}
