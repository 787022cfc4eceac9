import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FAR_FUTURE, inParallel, makeUser, random } from '../../../test/support/ledger-process.ts';
import { connect, type Database, type Db, openDatabase } from '../../db/index.ts';
import {
  available,
  charge,
  checkLedger,
  credit,
  type HoldResult,
  hold,
  LedgerError,
  release,
  review,
  settle,
  statement,
  statementPages,
} from './wallets.ts';

let own: TestDatabase;
let database: Database;
let db: Db;

before(async () => {
  own = await testDatabase();
  database = openDatabase(own.url, 20);
  db = database.db;
});
after(async () => {
  await database.close();
  await own.drop();
});

const reason = 'test';
const holdFor = (userId: string, nanos: bigint, reference: string): Promise<HoldResult> =>
  hold(db, { userId, nanos, reference, checkAfter: FAR_FUTURE });

test('a credit is booked once by its reference', async () => {
  const userId = await makeUser(db, 'ann');
  const gift = { userId, nanos: 500n, reference: 'gift:1', reason };
  assert.equal(await credit(db, gift), true);
  assert.equal(await credit(db, gift), false);
  assert.deepEqual(await available(db, userId), { available: 500n, held: 0n });
  await assert.rejects(credit(db, { ...gift, userId: 'nobody', reference: 'gift:2' }), /no wallet/);
});

test('a hold sets aside, a settlement charges and frees the rest, once', async () => {
  const userId = await makeUser(db, 'bob', 1000n);
  assert.equal(await holdFor(userId, 700n, 'task:b1'), 'held');
  assert.equal(await holdFor(userId, 700n, 'task:b1'), 'repeated');
  assert.equal(await holdFor(userId, 301n, 'task:b2'), 'short');
  assert.deepEqual(await available(db, userId), { available: 300n, held: 700n });
  assert.deepEqual(await settle(db, 'task:b1', { nanos: 450n, reason, priceId: 3n }), { settled: true, excess: 0n });
  assert.deepEqual(await settle(db, 'task:b1', { nanos: 450n, reason }), { settled: false, excess: 0n });
  assert.equal(await release(db, 'task:b1'), false);
  assert.deepEqual(await available(db, userId), { available: 550n, held: 0n });
  assert.equal(await holdFor(userId, 700n, 'task:b1'), 'repeated');
});

test('a settlement above the hold is charged in full, as an entry of its own', async () => {
  const userId = await makeUser(db, 'cy', 100n);
  await holdFor(userId, 80n, 'task:c1');
  assert.equal(await review(db, 'task:c1'), true);
  assert.equal(await review(db, 'task:c1'), false);
  assert.deepEqual(await settle(db, 'task:c1', { nanos: 130n, reason, priceId: 9n }), { settled: true, excess: 50n });
  assert.deepEqual(await available(db, userId), { available: -30n, held: 0n });
  assert.equal(await holdFor(userId, 1n, 'task:c2'), 'short');
  // Work that costs nothing can be held for even so.
  assert.equal(await holdFor(userId, 0n, 'task:c3'), 'held');
  assert.deepEqual(await settle(db, 'task:c3', { nanos: 0n, reason }), { settled: true, excess: 0n });
  const lines = await statement(db, userId);
  assert.deepEqual(
    lines.map(({ kind, nanos, reference, priceId }) => [kind, nanos, reference, priceId]),
    [
      ['excess', -50n, 'excess:task:c1', 9n],
      ['settle', -80n, 'settle:task:c1', 9n],
      ['credit', 100n, 'open:cy', null],
    ],
  );
});

test('a refund and a correction are entries like any other', async () => {
  const userId = await makeUser(db, 'dan', 100n);
  assert.equal(await charge(db, { userId, nanos: 130n, reference: 'fix:1', reason, to: '@adjustment' }), true);
  assert.equal(await charge(db, { userId, nanos: 130n, reference: 'fix:1', reason }), false);
  assert.equal(await credit(db, { userId, nanos: 5n, reference: 'back:1', reason, from: '@revenue' }), true);
  assert.deepEqual(await available(db, userId), { available: -25n, held: 0n });
});

/** How many entries a task looked at, by index or not. On one connection: each tells of its own reads when it is asked to. */
async function counted(task: (one: Db) => Promise<unknown>): Promise<number> {
  return db.connection().execute(async (one) => {
    const look = async (): Promise<number> => {
      await sql`select pg_stat_force_next_flush()`.execute(one);
      const { rows } = await sql<{ n: bigint }>`
        select seq_tup_read + idx_tup_fetch as n from pg_stat_user_tables where relname = 'entries'`.execute(one);
      return Number(rows[0]?.n);
    };
    const before = await look();
    await task(one);
    return (await look()) - before;
  });
}

test('a page of a long history reads no more than itself and what is newer', async (t) => {
  const userId = await makeUser(db, 'old', 1_000_000n);
  await sql`
    insert into entries (debit, credit, nanos, kind, reference, reason)
      select 'old', '@revenue', 1, 'charge', 'long:' || n, 'x' from generate_series(1, 100000) n`.execute(db);
  await sql`update wallets set debits = debits + 100000 where user_id = 'old'`.execute(db);
  await sql`analyze entries`.execute(db);
  const read = await counted((one) => statement(one, userId, { limit: 50 }));
  assert.ok(read >= 50 && read < 1_000, `${read} rows read`);
  const begun = performance.now();
  const [first] = await statement(db, userId, { limit: 1 });
  const [last] = await statement(db, userId, { limit: 1, before: (first?.id ?? 0n) - 99_999n });
  assert.deepEqual([first?.balance, last?.balance], [900_000n, 1_000_000n]);
  let lines = 0;
  for await (const page of statementPages(db, userId, { limit: 1_000 })) {
    for (const { balance, nanos, kind } of page) {
      assert.equal(balance, 900_000n + BigInt(lines), 'one after the other');
      assert.equal(nanos, kind === 'credit' ? 1_000_000n : -1n);
      lines += 1;
    }
  }
  assert.equal(lines, 100_001);
  t.diagnostic(`first and last of 100,001 lines, then all: ${Math.round(performance.now() - begun)} ms`);
});

test('a statement is read page by page', async () => {
  const userId = await makeUser(db, 'eve');
  for (let n = 0; n < 7; n += 1) {
    await credit(db, { userId, nanos: 10n, reference: `in:${n}`, reason });
    await charge(db, { userId, nanos: 1n, reference: `out:${n}`, reason });
  }
  const all = await statement(db, userId);
  const pages = [];
  for (let page = await statement(db, userId, { limit: 4 }); page.length > 0; ) {
    pages.push(...page);
    page = await statement(db, userId, { limit: 4, before: page.at(-1)?.id ?? 0n });
  }
  assert.equal(all.length, 14);
  assert.deepEqual(pages, all);
});

test('all of it works inside a transaction, and is taken back with it', async () => {
  const userId = await makeUser(db, 'fay', 100n);
  const task = db.transaction().execute(async (tx) => {
    await hold(tx, { userId, nanos: 60n, reference: 'task:f1', checkAfter: FAR_FUTURE });
    await settle(tx, 'task:f1', { nanos: 60n, reason });
    throw new Error('changed my mind');
  });
  await assert.rejects(task, /changed my mind/);
  assert.deepEqual(await available(db, userId), { available: 100n, held: 0n });
});

test('entries cannot be changed or removed', async () => {
  await makeUser(db, 'gil', 100n);
  for (const statement of [
    "update entries set nanos = 1 where credit = 'gil'",
    'delete from entries',
    'truncate entries',
  ])
    await assert.rejects(sql.raw(statement).execute(db), /append-only/);
});

test('200 parallel holds on a balance for exactly 37 make exactly 37, and racing ends have one winner each', async () => {
  const userId = await makeUser(db, 'hal', 37n * 11n);
  const results = await Promise.all(Array.from({ length: 200 }, (_, n) => holdFor(userId, 11n, `race:${n}`)));
  assert.equal(results.filter((result) => result === 'held').length, 37);
  const ends = results.flatMap((result, n) =>
    result === 'held'
      ? [settle(db, `race:${n}`, { nanos: 3n, reason }).then(({ settled }) => settled), release(db, `race:${n}`)]
      : [],
  );
  const winners = (await Promise.all(ends)).filter(Boolean).length;
  assert.equal(winners, 37);
  assert.equal((await available(db, userId)).held, 0n);
});

test('the same reference in parallel moves money once', async () => {
  const userId = await makeUser(db, 'ida', 1000n);
  const held = await Promise.all(Array.from({ length: 20 }, () => holdFor(userId, 10n, 'same:hold')));
  assert.deepEqual(held.toSorted(), ['held', ...Array(19).fill('repeated')]);
  const booked = await Promise.all(
    Array.from({ length: 20 }, () => credit(db, { userId, nanos: 7n, reference: 'same:credit', reason })),
  );
  assert.equal(booked.filter(Boolean).length, 1);
  assert.deepEqual(await available(db, userId), { available: 997n, held: 10n });
});

// ---------------------------------------------------------------- against a model

interface ModelHold {
  readonly nanos: bigint;
  state: 'held' | 'review' | 'settled' | 'released';
}

/** The same rules without a database. */
class Model {
  credits = 0n;
  debits = 0n;
  readonly holds = new Map<string, ModelHold>();
  readonly booked = new Set<string>();

  get held(): bigint {
    return [...this.holds.values()].reduce((sum, h) => sum + (isOpen(h) ? h.nanos : 0n), 0n);
  }
  get available(): bigint {
    return this.credits - this.debits - this.held;
  }
  book(reference: string): boolean {
    if (this.booked.has(reference)) return false;
    this.booked.add(reference);
    return true;
  }
  hold(reference: string, nanos: bigint): HoldResult {
    if (this.holds.has(reference)) return 'repeated';
    if (nanos > 0n && this.available < nanos) return 'short';
    this.holds.set(reference, { nanos, state: 'held' });
    return 'held';
  }
  end(reference: string, state: 'settled' | 'released', nanos: bigint): { settled: boolean; excess: bigint } {
    const known = this.holds.get(reference);
    if (!known || !isOpen(known)) return { settled: false, excess: 0n };
    known.state = state;
    this.debits += nanos;
    return { settled: true, excess: nanos > known.nanos ? nanos - known.nanos : 0n };
  }
  review(reference: string): boolean {
    const known = this.holds.get(reference);
    if (known?.state !== 'held') return false;
    known.state = 'review';
    return true;
  }
}
const isOpen = (h: ModelHold): boolean => h.state === 'held' || h.state === 'review';

/** One random operation on both; references come from a small set, so that repetitions are common. */
async function step(userId: string, model: Model, below: (n: number) => number): Promise<void> {
  const reference = `${userId}:${below(6)}`;
  const nanos = BigInt(below(100) + 1);
  const kind = below(9);
  if (kind <= 1) {
    const isNew = model.book(`in:${reference}`);
    if (isNew) model.credits += nanos;
    assert.equal(await credit(db, { userId, nanos, reference: `in:${reference}`, reason }), isNew);
  } else if (kind === 2) {
    const isNew = model.book(`out:${reference}`);
    if (isNew) model.debits += nanos;
    assert.equal(await charge(db, { userId, nanos, reference: `out:${reference}`, reason }), isNew);
  } else if (kind <= 5) {
    const amount = below(10) === 0 ? 0n : nanos;
    assert.equal(await holdFor(userId, amount, reference), model.hold(reference, amount));
  } else if (kind === 6) {
    const cost = BigInt(below(140));
    assert.deepEqual(await settle(db, reference, { nanos: cost, reason }), model.end(reference, 'settled', cost));
  } else if (kind === 7) {
    assert.equal(await release(db, reference), model.end(reference, 'released', 0n).settled);
  } else {
    assert.equal(await review(db, reference), model.review(reference));
  }
}

test('2,000 random sequences do what the model does', async (t) => {
  const SEED = 20_261_115;
  const begun = performance.now();
  await sql`insert into users (id) select 'model' || n from generate_series(0, 1999) n`.execute(db);
  let operations = 0;
  await inParallel(8, 2_000, async (n) => {
    const below = random(SEED + n * 7919);
    const model = new Model();
    const userId = `model${n}`;
    const length = 4 + below(9);
    operations += length;
    for (let at = 0; at < length; at += 1) await step(userId, model, below);
    const balance = await available(db, userId);
    assert.deepEqual(balance, { available: model.available, held: model.held }, `seed ${SEED}, sequence ${n}`);
  });
  await checkLedger(db);
  t.diagnostic(`${operations} operations in ${Math.round(performance.now() - begun)} ms`);
});

test('20 clients with 500 operations each on five wallets leave a ledger that adds up', async (t) => {
  const begun = performance.now();
  const users = await Promise.all(['v0', 'v1', 'v2', 'v3', 'v4'].map((id) => makeUser(db, id, 300n)));
  const counts = { held: 0, short: 0, settled: 0, released: 0 };
  await inParallel(20, 20, async (client) => {
    const below = random(31 * (client + 1));
    for (let n = 0; n < 500; n += 1) {
      const userId = users[below(users.length)] ?? '';
      // A few references for all clients, so that they fight for the same ones.
      const reference = `${userId}:${below(400)}`;
      const nanos = BigInt(below(60) + 1);
      const kind = below(6);
      if (kind === 0) await credit(db, { userId, nanos, reference: `c:${reference}`, reason });
      else if (kind <= 2) {
        const result = await holdFor(userId, nanos, reference);
        if (result !== 'repeated') counts[result] += 1;
      } else if (kind === 3) {
        const { settled } = await settle(db, reference, { nanos: BigInt(below(70)), reason });
        if (settled) counts.settled += 1;
      } else if (kind === 4) {
        if (await release(db, reference)) counts.released += 1;
      } else await charge(db, { userId, nanos: 1n, reference: `k:${reference}`, reason });
    }
  });
  await checkLedger(db);
  assert.ok(
    Object.values(counts).every((count) => count > 50),
    JSON.stringify(counts),
  );
  t.diagnostic(`10,000 operations in ${Math.round(performance.now() - begun)} ms; ${JSON.stringify(counts)}`);
});

test('a ledger that does not add up is noticed, each fault by its name', async () => {
  const userId = await makeUser(db, 'zed', 1_000n);
  await holdFor(userId, 100n, 'task:z1');
  await holdFor(userId, 50n, 'task:z2');
  await settle(db, 'task:z2', { nanos: 20n, reason });
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
        throw new Error('take it back');
      })
      .catch((error: Error) => assert.equal(error.message, 'take it back', error.message));
  }
});

test('a test file whose ledger does not add up at its end fails', async () => {
  const broken = await testDatabase();
  const client = await connect(broken.url);
  await client.query("insert into users (id) values ('eve'); update wallets set credits = 5 where user_id = 'eve'");
  await client.end();
  await assert.rejects(broken.drop(), /wallet\.credits is not the sum of its entries: eve, 0 expected, 5 found/);
  await assert.rejects(connect(broken.url), { code: '3D000' });
});

test('the table of credits of earlier versions becomes entries', async () => {
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
