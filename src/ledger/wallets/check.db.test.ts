import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FAR_FUTURE, makeUser } from '../../../test/support/ledger-process.ts';
import { connect, type Database, type Db, openDatabase } from '../../platform/db/index.ts';
import { checkLedger, LedgerError } from './check.ts';
import { hold, settle } from './wallets.ts';

let own: TestDatabase;
let database: Database;
let db: Db;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url);
  db = database.db;
});
after(async () => {
  await database.close();
  await own.drop();
});

test('checkLedger() names each kind of fault', async () => {
  const userId = await makeUser(db, 'zed', 1_000n);
  await hold(db, { userId, nanos: 100n, reference: 'task:z1', checkAfter: FAR_FUTURE });
  await hold(db, { userId, nanos: 50n, reference: 'task:z2', checkAfter: FAR_FUTURE });
  await settle(db, 'task:z2', { nanos: 20n, reason: 'test' });
  const tampering = {
    "update wallets set credits = credits + 1 where user_id = 'zed'": /wallet.credits/,
    "update wallets set debits = debits + 1 where user_id = 'zed'": /wallet.debits/,
    "update wallets set held = held + 1 where user_id = 'zed'": /wallet.held/,
    "update wallets set held = held + 5000 where user_id = 'zed'": /overspent/,
    "update holds set settled_nanos = 21 where reference = 'task:z2'": /not charged what it says/,
    "update holds set state = 'released', settled_nanos = null where reference = 'task:z2'": /not settled was charged/,
    "update holds set check_after = now() - interval '2 hours' where reference = 'task:z1'": /overdue/,
    "insert into entries (debit, credit, nanos, kind, reference, reason) values ('@funding', 'ghost', 1, 'credit', 'x', '')":
      /nobody's wallet/,
  };
  for (const [statement, expected] of Object.entries(tampering)) {
    await db
      .transaction()
      .execute(async (tx) => {
        await sql.raw(statement).execute(tx);
        const fault = await checkLedger(tx).catch((error: unknown) => error);
        assert.ok(fault instanceof LedgerError, statement);
        assert.match(fault.message, expected);
        throw new Error('roll back');
      })
      .catch((error: Error) => assert.equal(error.message, 'roll back', error.message));
  }
});

test('testDatabase() fails the test file when its ledger does not add up at the end', async () => {
  const broken = await testDatabase();
  const client = await connect(broken.url);
  await client.query("insert into users (id) values ('eve'); update wallets set credits = 5 where user_id = 'eve'");
  await client.end();
  await assert.rejects(broken.drop(), /wallet\.credits is not the sum of its entries: eve, 0 expected, 5 found/);
  await assert.rejects(connect(broken.url), { code: '3D000' });
});

test('migration 0002 turns the credits of earlier versions into entries', async () => {
  const read = (name: string) => readFile(new URL(`../../../migrations/${name}`, import.meta.url), 'utf8');
  const client = await connect(own.url);
  try {
    await client.query('create schema early; set search_path to early');
    await client.query(await read('0001_foundation.sql'));
    await client.query(`insert into users (id) values ('old'), ('poor');
      insert into credits (reference, user_id, nanos, reason) values ('open:old', 'old', 500, 'opening balance'), ('gift', 'old', 20, 'gift')`);
    await client.query((await read('0002_ledger.sql')).replaceAll('usage_months', 'early_months'));
    const wallets = await client.query('select user_id, credits, debits, held from wallets order by user_id');
    assert.deepEqual(wallets.rows, [
      { user_id: 'old', credits: 520n, debits: 0n, held: 0n },
      { user_id: 'poor', credits: 0n, debits: 0n, held: 0n },
    ]);
    assert.deepEqual((await client.query('select * from ledger_faults()')).rows, []);
  } finally {
    await client.query('drop schema if exists early cascade; drop schema if exists early_months cascade');
    await client.end();
  }
});
