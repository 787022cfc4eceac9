/** Runs migrations/*.sql, forward only, in order. Several replicas may call it at once: the first takes a lock, the rest wait. */
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { Db } from './db.ts';

const FOLDER = new URL('../../migrations/', import.meta.url);

export class MigrationError extends Error {}

/** Names of the steps that were run now. */
export async function migrate(db: Db): Promise<string[]> {
  const { error, results = [] } = await migratorOf(db).migrateToLatest();
  if (error) throw new MigrationError(explain(error), { cause: error });
  return results.map((result) => result.migrationName);
}

/** True when every step of this version has been run. */
export async function isMigrated(db: Db): Promise<boolean> {
  const steps = await migratorOf(db).getMigrations();
  return steps.every((step) => step.executedAt !== undefined);
}

const migratorOf = (db: Db): Migrator => new Migrator({ db, provider: { getMigrations: readMigrations } });

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).sort();
  const steps = files.map(async (file): Promise<[string, Migration]> => {
    const text = await readFile(new URL(file, FOLDER), 'utf8');
    return [basename(file, '.sql'), { up: async (db) => void (await sql.raw(text).execute(db)) }];
  });
  return Object.fromEntries(await Promise.all(steps));
}

function explain(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.includes('is missing')
    ? `The database was migrated by a newer version of Dragoman; start that version. (${message})`
    : `A migration failed and was rolled back: ${message}`;
}
