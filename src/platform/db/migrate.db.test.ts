/** Migrations whose connection is lost: what is reported is what the database has. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { emptyDatabase, type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { someOf } from '../../../test/support/long-test.ts';
import { type Blow, PostgresProxy, STRIKES } from '../../../test/support/postgres-proxy.ts';
import { MigrationError, migrate, migrateTo, openDatabase, readMigrationState } from './index.ts';

let earlier: TestDatabase;
/** What this version adds to it. */
let added: string[];

before(async () => {
  earlier = await emptyDatabase();
  const { missing } = await stateOf(earlier);
  added = missing.slice(-2);
  await migrateTo(earlier.url, missing.at(-3) ?? '');
});
after(() => earlier.drop());

async function stateOf({ url }: TestDatabase) {
  const { db, close } = openDatabase(url, 1);
  return readMigrationState(db).finally(close);
}

async function migrateWith(blow: Blow | undefined): Promise<number> {
  const own = await testDatabase(new URL(earlier.url).pathname.slice(1));
  const proxy = await PostgresProxy.start(own.url);
  try {
    proxy.arm(blow);
    const outcome = await migrate(proxy.url).then(
      ({ run }) => run,
      (error: Error) => error,
    );
    const { missing } = await stateOf(own);
    const told = `${JSON.stringify(blow)}: ${outcome}`;
    if (!(outcome instanceof Error)) assert.deepEqual([outcome, missing], [added, []], told);
    else {
      // One that has not begun is reported as what it is: a database that is away.
      assert.equal(outcome.name === 'DatabaseUnavailable' || outcome instanceof MigrationError, true, told);
      assert.deepEqual(missing, added, told);
      if (outcome instanceof MigrationError) assert.match(outcome.message, /was rolled back\. Run it again\.$/, told);
    }
    assert.deepEqual((await migrate(own.url)).run, missing, 'the next run does what is missing');
    return proxy.sent('server');
  } finally {
    await proxy.close();
    await own.drop();
  }
}

test('migrate says what the database has when its connection is lost at any moment', async (t) => {
  const messages = await migrateWith(undefined);
  const blows = Array.from({ length: messages }, (_, n) => n + 1).flatMap((at) =>
    STRIKES.map((strike): Blow => ({ strike, side: 'server', at })),
  );
  const step = Math.ceil(blows.length / 30);
  // The last messages are those of the commit.
  const chosen = [
    ...someOf(
      blows.filter((_, n) => n % step === 0),
      4,
    ),
    ...someOf(blows.slice(-40), 4),
  ];
  for (const blow of chosen) await migrateWith(blow);
  t.diagnostic(`${chosen.length} of ${blows.length} moments`);
});
