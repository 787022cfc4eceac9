/** Which migrations of other versions a version runs on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { emptyDatabase, testDatabase } from '../../../test/support/database.ts';
import { isEarlier, version } from '../version.ts';
import { openDatabase } from './db.ts';
import { migrate, migrateTo } from './migrate.ts';
import { FIRST_WAY_BACK, MigrationError, readMigrationFiles } from './migration-files.ts';
import { findRefusal, newerSchemaNote, readMigrationState, type UnknownMigration } from './migration-state.ts';
import type { Db } from './rows.ts';

const unknown = (name: string, oldestVersion: string | undefined): UnknownMigration => ({ name, oldestVersion });
const state = (...migrations: UnknownMigration[]) => ({ done: [], missing: [], unknown: migrations });

test('findRefusal names the version that a schema needs, compared by number', () => {
  const refusal = (...migrations: UnknownMigration[]) => findRefusal(state(...migrations), '0.9.0');
  assert.equal(refusal(), undefined);
  assert.equal(refusal(unknown('0080_a', '0.2.0'), unknown('0081_b', '0.9.0')), undefined);
  assert.match(
    refusal(unknown('0080_a', '0.10.0'), unknown('0081_b', '0.9.1')) ?? '',
    /^The database needs Dragoman 0\.10\.0 or later, because of 0080_a, 0081_b; this is 0\.9\.0\. Start 0\.10\.0, or restore a backup/,
  );
  assert.match(
    refusal(unknown('0080_a', undefined)) ?? '',
    /was migrated by a later version, with 0080_a\. Start that/,
  );
  assert.match(
    findRefusal({ done: [], missing: ['0079_own'], unknown: [unknown('0080_a', '0.2.0')] }, '0.9.0') ?? '',
    /has the migrations 0080_a, which Dragoman 0\.9\.0 does not know, and lacks 0079_own\. Start a version that has all/,
  );
});

async function withDatabase(open: typeof testDatabase, task: (url: string, db: Db) => Promise<void>): Promise<void> {
  const database = await open();
  const { db, close } = openDatabase(database.url, 2);
  try {
    await task(database.url, db);
  } finally {
    await close();
    await database.drop();
  }
}

const addUnknown = (db: Db, migration: string, oldest_version: string) =>
  db.insertInto('schema_versions').values({ migration, oldest_version }).execute();

test('migrate accepts a newer schema that says that this version runs on it, and refuses another one', () =>
  withDatabase(testDatabase, async (url, db) => {
    assert.deepEqual(await migrate(url), { run: [], unknown: [] });
    await addUnknown(db, '9998_expand', version);
    assert.deepEqual(await migrate(url), { run: [], unknown: [unknown('9998_expand', version)] });
    assert.match(newerSchemaNote(await readMigrationState(db)) ?? '', /does not know 9998_expand \(runs with /);
    await addUnknown(db, '9999_contract', '99.0.0');
    await assert.rejects(
      migrate(url),
      (error) => error instanceof MigrationError && /needs Dragoman 99\.0\.0 or later/.test(error.message),
    );
  }));

test('migrate refuses a database that lacks migrations and has unknown ones, and changes nothing', () =>
  withDatabase(emptyDatabase, async (url, db) => {
    const { missing } = await readMigrationState(db);
    await migrateTo(url, missing.at(-2) ?? '');
    await addUnknown(db, '9998_expand', version);
    await assert.rejects(migrate(url), /has the migrations 9998_expand, .*, and lacks /);
    assert.deepEqual((await readMigrationState(db)).missing, missing.slice(-1));
  }));

test('migrate records what each migration says, and leaves to 0.2.0 the migrations that it knows', () =>
  withDatabase(testDatabase, async (_, db) => {
    const declared = await db.selectFrom('schema_versions').selectAll().orderBy('migration').execute();
    const files = await readMigrationFiles();
    assert.deepEqual(
      declared.map(({ migration, oldest_version }) => unknown(migration, oldest_version)),
      files.filter(({ oldestVersion }) => oldestVersion).map(({ name, oldestVersion }) => unknown(name, oldestVersion)),
    );
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
    const seen = files.filter(
      ({ oldestVersion }) => oldestVersion === undefined || isEarlier(FIRST_WAY_BACK.version, oldestVersion),
    );
    assert.deepEqual(
      rows.map(({ name }) => name),
      seen.map(({ name }) => name),
    );
  }));
