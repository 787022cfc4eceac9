/** Runs migrations/*.sql in order, forward only. Replicas that start at once wait for the lock of the first. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { errorText } from '../../core/index.ts';
import { isEarlier } from '../version.ts';
import { openDatabase } from './db.ts';
import { FIRST_WAY_BACK, MigrationError, type MigrationFile, readMigrationFiles } from './migration-files.ts';
import { findRefusal, type MigrationState, readMigrationState } from './migration-state.ts';
import { DatabaseUnavailable } from './pool.ts';
import type { Db, Tx } from './rows.ts';
import { isLoss } from './transaction-outcome.ts';

/** An index over a large table takes minutes to build, and other replicas wait for it. */
const STATEMENT_MS = 3_600_000;

/** How long a session whose connection was lost may take to end. */
const LOOK_MS = 60_000;
const LOOKS = 5;
const LOOK_PAUSE_MS = 1_000;

/** Held until a migration is over. That of version 0.2.0 too, which may start at the same time. */
const LOCK = 3_853_314_791_062_309_107n;

export interface Migrated extends Pick<MigrationState, 'unknown'> {
  /** The migrations that were run. */
  readonly run: readonly string[];
}

/** Looks first without the lock. Throws if this version cannot run on the database. */
export const migrate = (url: string): Promise<Migrated> => runMissing(url, () => true);

/** As `migrate`, up to and including the named migration: brings an empty database to the schema of an earlier version. */
export const migrateTo = (url: string, last: string): Promise<Migrated> => runMissing(url, (name) => name <= last);

/** Uses connections of its own, because its statements may take long. */
async function runMissing(url: string, isDue: (name: string) => boolean): Promise<Migrated> {
  const own = openDatabase(url, 1, { statementMs: STATEMENT_MS });
  try {
    const { missing, unknown } = await readRunnable(own.db);
    const wanted = missing.filter(isDue);
    if (wanted.length === 0) return { run: [], unknown };
    const run = await own.db
      .transaction()
      .execute((tx) => runUnderLock(tx, wanted))
      .catch((error: unknown) => {
        if (isLoss(error)) return findOutcome(url, wanted, error);
        throw error;
      });
    return { run, unknown };
  } finally {
    await own.close();
  }
}

/** Another replica may have run some of them meanwhile. */
async function runUnderLock(tx: Tx, wanted: readonly string[]): Promise<readonly string[]> {
  await sql`select set_config('lock_timeout', ${String(STATEMENT_MS)}, true)`.execute(tx);
  await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(tx);
  const { missing } = await readRunnable(tx);
  await createTables(tx);
  const files = (await readMigrationFiles()).filter(({ name }) => missing.includes(name) && wanted.includes(name));
  for (const file of files) await runFile(tx, file);
  return files.map(({ name }) => name);
}

async function readRunnable(db: Db | Tx): Promise<MigrationState> {
  const state = await readMigrationState(db);
  const refusal = findRefusal(state);
  if (refusal !== undefined) throw new MigrationError(refusal);
  return state;
}

/** Which migrations a database has run. `kysely_migration` is that of version 0.2.0 and before. */
async function createTables(tx: Tx): Promise<void> {
  await sql`create table if not exists kysely_migration (
    name varchar(255) primary key, timestamp varchar(255) not null)`.execute(tx);
  await sql`create table if not exists schema_versions (
    migration text primary key, oldest_version text not null)`.execute(tx);
}

async function runFile(tx: Tx, file: MigrationFile): Promise<void> {
  try {
    await sql.raw(file.text).execute(tx);
    await record(tx, file);
  } catch (error) {
    if (isLoss(error)) throw error;
    throw new MigrationError(`The migration ${file.name} failed and was rolled back: ${errorText(error)}`, {
      cause: error,
    });
  }
}

/** Version 0.2.0 starts only when `kysely_migration` has exactly its own migrations, and reads no other table. */
async function record(tx: Tx, { name, oldestVersion }: MigrationFile): Promise<void> {
  if (oldestVersion === undefined || isEarlier(FIRST_WAY_BACK.version, oldestVersion))
    await sql`insert into kysely_migration (name, timestamp) values (${name}, now()::text)`.execute(tx);
  if (oldestVersion !== undefined)
    await tx.insertInto('schema_versions').values({ migration: name, oldest_version: oldestVersion }).execute();
}

/** What became of migrations whose connection was lost: the last message that was lost may have been that of their commit. */
async function findOutcome(url: string, wanted: readonly string[], cause: Error): Promise<readonly string[]> {
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
        await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(tx);
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
