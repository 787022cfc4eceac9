import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts';
import { FAR_FUTURE, inParallel, makeUser, random } from '../../../test/support/ledger-process.ts';
import { longTest } from '../../../test/support/long-test.ts';
import { runs } from '../../../test/support/properties.ts';
import { type Database, type Db, openDatabase } from '../../platform/db/index.ts';
import { checkLedger } from './check.ts';
import { readStatement } from './statement.ts';
import { charge, credit, type HoldResult, hold, readBalance, release, review, settle } from './wallets.ts';

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

test('credit() books a reference once', async () => {
  const userId = await makeUser(db, 'ann');
  const gift = { userId, nanos: 500n, reference: 'gift:1', reason };
  assert.equal(await credit(db, gift), true);
  assert.equal(await credit(db, gift), false);
  assert.deepEqual(await readBalance(db, userId), { available: 500n, held: 0n });
  await assert.rejects(credit(db, { ...gift, userId: 'unknown', reference: 'gift:2' }), /no wallet/);
});

test('settle() charges a hold once and frees the rest', async () => {
  const userId = await makeUser(db, 'bob', 1000n);
  assert.equal(await holdFor(userId, 700n, 'task:b1'), 'held');
  assert.equal(await holdFor(userId, 700n, 'task:b1'), 'repeated');
  assert.equal(await holdFor(userId, 301n, 'task:b2'), 'short');
  assert.deepEqual(await readBalance(db, userId), { available: 300n, held: 700n });
  assert.deepEqual(await settle(db, 'task:b1', { nanos: 450n, reason, priceId: 3n }), { settled: true, excess: 0n });
  assert.deepEqual(await settle(db, 'task:b1', { nanos: 450n, reason }), { settled: false, excess: 0n });
  assert.equal(await release(db, 'task:b1'), false);
  assert.deepEqual(await readBalance(db, userId), { available: 550n, held: 0n });
  assert.equal(await holdFor(userId, 700n, 'task:b1'), 'repeated');
});

test('settle() charges the amount above the hold as a separate entry', async () => {
  const userId = await makeUser(db, 'cy', 100n);
  await holdFor(userId, 80n, 'task:c1');
  assert.equal(await review(db, 'task:c1'), true);
  assert.equal(await review(db, 'task:c1'), false);
  assert.deepEqual(await settle(db, 'task:c1', { nanos: 130n, reason, priceId: 9n }), { settled: true, excess: 50n });
  assert.deepEqual(await readBalance(db, userId), { available: -30n, held: 0n });
  assert.equal(await holdFor(userId, 1n, 'task:c2'), 'short');
  // A hold of zero needs no balance.
  assert.equal(await holdFor(userId, 0n, 'task:c3'), 'held');
  assert.deepEqual(await settle(db, 'task:c3', { nanos: 0n, reason }), { settled: true, excess: 0n });
  const lines = await readStatement(db, userId);
  assert.deepEqual(
    lines.map(({ kind, nanos, reference, priceId }) => [kind, nanos, reference, priceId]),
    [
      ['excess', -50n, 'excess:task:c1', 9n],
      ['settle', -80n, 'settle:task:c1', 9n],
      ['credit', 100n, 'open:cy', null],
    ],
  );
});

test('credit() and charge() book refunds and corrections', async () => {
  const userId = await makeUser(db, 'dan', 100n);
  assert.equal(await charge(db, { userId, nanos: 130n, reference: 'fix:1', reason, to: '@adjustment' }), true);
  assert.equal(await charge(db, { userId, nanos: 130n, reference: 'fix:1', reason }), false);
  assert.equal(await credit(db, { userId, nanos: 5n, reference: 'back:1', reason, from: '@revenue' }), true);
  assert.deepEqual(await readBalance(db, userId), { available: -25n, held: 0n });
});

test('wallet operations are rolled back with the transaction of the caller', async () => {
  const userId = await makeUser(db, 'fay', 100n);
  const task = db.transaction().execute(async (tx) => {
    await hold(tx, { userId, nanos: 60n, reference: 'task:f1', checkAfter: FAR_FUTURE });
    await settle(tx, 'task:f1', { nanos: 60n, reason });
    throw new Error('roll back');
  });
  await assert.rejects(task, /roll back/);
  assert.deepEqual(await readBalance(db, userId), { available: 100n, held: 0n });
});

test('the database rejects updates and deletes of entries', async () => {
  await makeUser(db, 'gil', 100n);
  for (const statement of [
    "update entries set nanos = 1 where credit = 'gil'",
    'delete from entries',
    'truncate entries',
  ])
    await assert.rejects(sql.raw(statement).execute(db), /append-only/);
});

test('hold() admits exactly 37 of 200 parallel holds, and each is ended once, when the balance covers 37', async () => {
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
  assert.equal((await readBalance(db, userId)).held, 0n);
});

test('hold() and credit() move money once when the same reference is used in parallel', async () => {
  const userId = await makeUser(db, 'ida', 1000n);
  const held = await Promise.all(Array.from({ length: 20 }, () => holdFor(userId, 10n, 'same:hold')));
  assert.deepEqual(held.toSorted(), ['held', ...Array(19).fill('repeated')]);
  const booked = await Promise.all(
    Array.from({ length: 20 }, () => credit(db, { userId, nanos: 7n, reference: 'same:credit', reason })),
  );
  assert.equal(booked.filter(Boolean).length, 1);
  assert.deepEqual(await readBalance(db, userId), { available: 997n, held: 10n });
});

// ---------------------------------------------------------------- against a model

interface ModelHold {
  readonly nanos: bigint;
  state: 'held' | 'review' | 'settled' | 'released';
}

/** The rules of wallets and holds, in memory. */
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
  isNew(reference: string): boolean {
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

/** Runs one random operation on both. References come from a small set, so that repetitions are common. */
async function step(userId: string, model: Model, below: (n: number) => number): Promise<void> {
  const reference = `${userId}:${below(6)}`;
  const nanos = BigInt(below(100) + 1);
  const kind = below(9);
  if (kind <= 1) {
    const isNew = model.isNew(`in:${reference}`);
    if (isNew) model.credits += nanos;
    assert.equal(await credit(db, { userId, nanos, reference: `in:${reference}`, reason }), isNew);
  } else if (kind === 2) {
    const isNew = model.isNew(`out:${reference}`);
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

test('random sequences of operations match the model', async (t) => {
  const SEED = 20_261_115;
  const begun = performance.now();
  const count = runs(2_000);
  await sql`insert into users (id) select 'model' || n from generate_series(1, ${count}::int) n`.execute(db);
  let operations = 0;
  await inParallel(8, count, async (n) => {
    const below = random(SEED + n * 7919);
    const model = new Model();
    const userId = `model${n + 1}`;
    const length = 4 + below(9);
    operations += length;
    for (let at = 0; at < length; at += 1) await step(userId, model, below);
    const balance = await readBalance(db, userId);
    assert.deepEqual(balance, { available: model.available, held: model.held }, `seed ${SEED}, sequence ${n}`);
  });
  await checkLedger(db);
  t.diagnostic(`${operations} operations in ${Math.round(performance.now() - begun)} ms`);
});

longTest('the ledger adds up after 20 clients ran hundreds of operations each on five wallets', async (t) => {
  const begun = performance.now();
  const users = await Promise.all(['v0', 'v1', 'v2', 'v3', 'v4'].map((id) => makeUser(db, id, 300n)));
  const counts = { held: 0, short: 0, settled: 0, released: 0 };
  const operations = runs(1_000);
  await inParallel(20, 20, async (client) => {
    const below = random(31 * (client + 1));
    for (let n = 0; n < operations; n += 1) {
      const userId = users[below(users.length)] ?? '';
      // Few references, so that clients compete for the same ones.
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
  t.diagnostic(
    `${20 * operations} operations in ${Math.round(performance.now() - begun)} ms; ${JSON.stringify(counts)}`,
  );
});
