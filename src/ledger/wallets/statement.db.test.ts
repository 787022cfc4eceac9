import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { makeUser } from '../../../test/support/ledger-process.ts';
import { longTest } from '../../../test/support/long-test.ts';
import { until } from '../../../test/support/wait.ts';
import { type Database, type Db, openDatabase } from '../../platform/db/index.ts';
import { checkNewEntries } from './check.ts';
import { SEGMENT_ENTRIES } from './segments.ts';
import { readStatement, readStatementPages } from './statement.ts';
import { charge, credit } from './wallets.ts';

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

const reason = 'test';

/** Counts the entries that a task reads. Uses one connection, because statistics are flushed per connection. */
async function countReads(task: (one: Db) => Promise<unknown>): Promise<number> {
  return db.connection().execute(async (one) => {
    const readCount = async (): Promise<number> => {
      await sql`select pg_stat_force_next_flush()`.execute(one);
      const { rows } = await sql<{ n: bigint }>`
        select seq_tup_read + idx_tup_fetch as n from pg_stat_user_tables where relname = 'entries'`.execute(one);
      return Number(rows[0]?.n);
    };
    const before = await readCount();
    await task(one);
    return (await readCount()) - before;
  });
}

longTest('readStatement() reads only the entries of the page and newer ones', async (t) => {
  const userId = await makeUser(db, 'old', 1_000_000n);
  await sql`
    insert into entries (debit, credit, nanos, kind, reference, reason)
      select 'old', '@revenue', 1, 'charge', 'long:' || n, 'x' from generate_series(1, 100000) n`.execute(db);
  await sql`update wallets set debits = debits + 100000 where user_id = 'old'`.execute(db);
  await sql`analyze entries`.execute(db);
  const read = await countReads((one) => readStatement(one, userId, { limit: 50 }));
  assert.ok(read >= 50 && read < 1_000, `${read} rows read`);
  const begun = performance.now();
  const [first] = await readStatement(db, userId, { limit: 1 });
  const [last] = await readStatement(db, userId, { limit: 1, before: (first?.id ?? 0n) - 99_999n });
  assert.deepEqual([first?.balance, last?.balance], [900_000n, 1_000_000n]);
  let lines = 0;
  for await (const page of readStatementPages(db, userId, { limit: 1_000 })) {
    for (const { balance, nanos, kind } of page) {
      assert.equal(balance, 900_000n + BigInt(lines), 'balances follow one another');
      assert.equal(nanos, kind === 'credit' ? 1_000_000n : -1n);
      lines += 1;
    }
  }
  assert.equal(lines, 100_001);
  t.diagnostic(`first and last of 100,001 lines, then all: ${Math.round(performance.now() - begun)} ms`);
});

test('readStatement() continues behind the last line of a page', async () => {
  const userId = await makeUser(db, 'eve');
  for (let n = 0; n < 7; n += 1) {
    await credit(db, { userId, nanos: 10n, reference: `in:${n}`, reason });
    await charge(db, { userId, nanos: 1n, reference: `out:${n}`, reason });
  }
  const all = await readStatement(db, userId);
  const pages = [];
  for (let page = await readStatement(db, userId, { limit: 4 }); page.length > 0; ) {
    pages.push(...page);
    page = await readStatement(db, userId, { limit: 4, before: page.at(-1)?.id ?? 0n });
  }
  assert.equal(all.length, 14);
  assert.deepEqual(pages, all);
});

longTest('readStatement() reads an old day from its segment, with the right balances', async (t) => {
  const userId = await makeUser(db, 'aged', 10n ** 9n);
  await makeUser(db, 'crowd', 10n ** 9n);
  const count = 5 * SEGMENT_ENTRIES;
  // A hundred days; every second entry is of the other user.
  await sql`
    insert into entries (debit, credit, nanos, kind, reference, reason, created_at)
      select case when n % 2 = 0 then 'aged' else 'crowd' end, '@revenue', 1 + n % 3, 'charge', 'aged:' || n, 'x',
        '2026-01-01'::timestamptz + n * 100.0 / ${count} * interval '1 day'
      from generate_series(1, ${count}::int) n`.execute(db);
  await sql`update wallets w set debits = (select coalesce(sum(nanos), 0) from entries where debit = w.user_id)`.execute(
    db,
  );
  await sql`analyze entries`.execute(db);
  const read = () =>
    readStatement(db, userId, { start: new Date('2026-01-11'), end: new Date('2026-01-12'), limit: 2_000 });
  const before = await read();
  await until('segments', async () => {
    await sql`update ledger_checkpoint set marked_at = now() - interval '1 minute'`.execute(db);
    assert.deepEqual((await checkNewEntries(db))?.faults, []);
    return (await db.selectFrom('ledger_segments').select('last_id').execute()).length >= 5;
  });
  assert.equal(before.length, count / 2 / 100);
  assert.deepEqual(await read(), before, 'the same lines and balances as without segments');
  const reads = await countReads((one) =>
    readStatement(one, userId, { start: new Date('2026-01-11'), end: new Date('2026-01-12'), limit: 100 }),
  );
  t.diagnostic(`${reads} entries read of ${count / 2}`);
  assert.ok(reads <= 3 * SEGMENT_ENTRIES, `${reads} rows read`);
  // Pages, before and behind all segments, and a period without entries.
  const all: unknown[] = [];
  for await (const page of readStatementPages(db, userId, { start: new Date('2026-03-01'), limit: 700 }))
    all.push(...page);
  assert.deepEqual(all, await readStatement(db, userId, { start: new Date('2026-03-01'), limit: 100_000 }));
  assert.deepEqual(await readStatement(db, userId, { end: new Date('2020-01-01') }), []);
  assert.equal((await readStatement(db, userId, { start: new Date('2026-06-01') }))[0]?.kind, 'credit');
});
