/** Wishes in the database: their order, and the same decisions as the ledger that the simulation uses. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { SimulatedLedger } from '../../../test/simulation/lease-ledger.ts';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { FAR_FUTURE, makeUser, random } from '../../../test/support/ledger-process.ts';
import type { Nanos } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { removeReplica } from '../records/replica.ts';
import { credit, hold, readBalance } from '../wallets/wallets.ts';
import { databaseLeases, type LeaseStore } from './lease-queries.ts';

let fixture: LedgerFixture;
let db: Db;
let store: LeaseStore;
const REPLICAS = ['rep_w0', 'rep_w1', 'rep_w2'];

before(async () => {
  fixture = await openLedgerFixture(4);
  ({ db } = fixture);
  store = databaseLeases(db);
  const seen_at = new Date(Date.now() + 3_600_000);
  for (const id of REPLICAS) await db.insertInto('replicas').values({ id, host: 'test', seen_at }).execute();
});
after(async () => {
  for (const id of REPLICAS) await removeReplica(db, id);
  await fixture.close();
});

const need = (...needs: Nanos[]) => ({ needs, ahead: 0n, unit: 1n, recent: 0n });
const take = (userId: string, replicaId: string, nanos: Nanos) => store.take({ userId, replicaId, ...need(nanos) });
const holdFor = (userId: string, nanos: Nanos, reference: string) =>
  hold(db, { userId, nanos, reference, checkAfter: FAR_FUTURE });
const topUp = (userId: string, nanos: Nanos) =>
  credit(db, { userId, nanos, reference: `top:${userId}`, reason: 'test' });

/** Moves the last looks of all wishes. In the future they do not become old while a slow machine runs the test. */
const moveLooks = (msAgo: number) =>
  sql`update wishes set seen_at = now() - ${msAgo} * interval '1 millisecond'`.execute(db);
const JUST_NOW = -3_600_000;

test('money is granted in the order of the wishes, to calls and holds alike', async () => {
  const userId = await makeUser(db, 'order', 500n);
  await take(userId, 'rep_w2', 500n);
  for (const owner of ['rep_w0', 'hold:order', 'rep_w1'])
    assert.ok((await store.wish({ userId, owner, nanos: 300n, isNew: true })).isPayable);
  await moveLooks(JUST_NOW);
  await topUp(userId, 500n);
  const looks = async (owner: string) => (await store.wish({ userId, owner, nanos: 300n, isNew: false })).isReady;
  assert.deepEqual([await looks('rep_w0'), await looks('hold:order'), await looks('rep_w1')], [true, false, false]);
  assert.equal((await take(userId, 'rep_w1', 300n)).granted, 0n, 'two wishes are before its own');
  assert.equal(await holdFor(userId, 300n, 'hold:order'), 'short', 'one wish is before its own');
  assert.equal(await holdFor(userId, 300n, 'hold:none'), 'short', 'all wishes are before those without one');
  assert.equal((await take(userId, 'rep_w0', 300n)).granted, 300n);
  assert.deepEqual([await looks('hold:order'), await looks('rep_w1')], [false, false]);
  await store.withdraw({ userId, owner: 'hold:order' });
  assert.equal(await looks('rep_w1'), false, '200 are left');
  assert.equal(
    await holdFor(userId, 200n, 'hold:late'),
    'short',
    'the wish still waits for the lease of another replica',
  );
  await store.withdraw({ userId, owner: 'rep_w1' });
  assert.equal(await holdFor(userId, 200n, 'hold:late'), 'held');
  assert.deepEqual(await db.selectFrom('wishes').selectAll().execute(), []);
});

test('a wish is rejected once every live replica has answered it, and only then', async () => {
  const userId = await makeUser(db, 'answers', 500n);
  const ofOne = await take(userId, 'rep_w1', 200n);
  const ofTwo = await take(userId, 'rep_w2', 200n);
  const look = (isNew: boolean) => store.wish({ userId, owner: 'rep_w0', nanos: 300n, isNew });
  assert.deepEqual(await store.wanted('rep_w1'), []);
  assert.equal((await look(true)).payable, 500n);
  const [wanted] = await store.wanted('rep_w1');
  assert.equal(wanted?.userId, userId);
  const answer = (replicaId: string, version: bigint | undefined, nanos: Nanos) =>
    store.giveBack({ userId, replicaId, nanos, version, answer: wanted?.newest ?? 0n });
  assert.ok(await answer('rep_w1', ofOne.lease?.version, 50n));
  assert.deepEqual(await store.wanted('rep_w1'), []);
  assert.equal((await look(false)).payable, 350n, 'what the other one still has is in use');
  assert.equal(await answer('rep_w2', 99n, 0n), undefined, 'its lease has another version');
  assert.equal((await look(false)).isPayable, true);
  assert.ok(await answer('rep_w2', ofTwo.lease?.version, 0n));
  assert.deepEqual(await look(false), {
    available: 150n,
    payable: 150n,
    isPayable: false,
    isReady: false,
    isFull: false,
    newest: undefined,
  });
  assert.deepEqual(await db.selectFrom('wishes').selectAll().execute(), []);
});

test('a wish that came after an answer asks again', async () => {
  const userId = await makeUser(db, 'again', 300n);
  const { lease } = await take(userId, 'rep_w1', 300n);
  await store.wish({ userId, owner: 'rep_w0', nanos: 100n, isNew: true });
  const [wanted] = await store.wanted('rep_w1');
  // The owner has seen one wish, and a second one comes before its statement.
  await store.wish({ userId, owner: 'hold:again', nanos: 100n, isNew: true });
  const answer = { userId, replicaId: 'rep_w1', nanos: 0n, version: lease?.version, answer: wanted?.newest };
  await store.giveBack(answer);
  assert.equal((await store.wish({ userId, owner: 'rep_w0', nanos: 100n, isNew: false })).isPayable, false);
  assert.equal((await store.wish({ userId, owner: 'hold:again', nanos: 100n, isNew: false })).isPayable, true);
  assert.deepEqual(
    (await store.wanted('rep_w1')).map((one) => one.userId),
    [userId],
  );
  await store.withdraw({ userId, owner: 'hold:again' });
});

test('wishes and leases of processes that are gone stop nobody', async () => {
  const userId = await makeUser(db, 'gone', 400n);
  await take(userId, 'rep_w1', 100n);
  await store.wish({ userId, owner: 'rep_w0', nanos: 400n, isNew: true });
  await moveLooks(JUST_NOW);
  assert.equal((await take(userId, 'rep_w2', 100n)).granted, 0n);
  await moveLooks(20_000);
  assert.equal((await take(userId, 'rep_w2', 100n)).granted, 100n, 'an old wish keeps no place');
  await sql`update replicas set seen_at = now() - interval '18 seconds' where id = 'rep_w1'`.execute(db);
  const outlook = await store.wish({ userId, owner: 'hold:gone', nanos: 400n, isNew: true });
  assert.deepEqual([outlook.payable, outlook.isPayable, outlook.newest], [300n, false, undefined]);
  assert.deepEqual(await db.selectFrom('wishes').selectAll().execute(), [], 'it is removed');
  await sql`update replicas set seen_at = now() + interval '1 hour' where id = 'rep_w1'`.execute(db);
});

test('a wallet has at most 200 wishes', async () => {
  const userId = await makeUser(db, 'many', 400n);
  await take(userId, 'rep_w1', 400n);
  await sql`insert into wishes (user_id, owner, nanos) select ${userId}, 'hold:' || n, 1 from generate_series(1, 200) n`.execute(
    db,
  );
  await moveLooks(JUST_NOW);
  assert.equal((await store.wish({ userId, owner: 'hold:0', nanos: 1n, isNew: true })).isFull, true);
  assert.equal((await store.wish({ userId, owner: 'hold:7', nanos: 2n, isNew: false })).isFull, false);
  await db.deleteFrom('wishes').execute();
});

/** Ids differ: the database skips numbers. */
const shown = (result: unknown): string =>
  JSON.stringify(result, (name, value: unknown) => {
    if (name === 'newest' || name === 'id') return value !== undefined;
    return typeof value === 'bigint' ? String(value) : value;
  });

test('the database decides as the ledger of the simulation does', async () => {
  const below = random(11);
  const userId = await makeUser(db, 'same', 3_000n);
  const simulated = new SimulatedLedger(() => 0);
  simulated.addWallet(userId, 3_000n);
  for (const id of REPLICAS) simulated.register(id);
  const newest = { database: 0n, simulated: 0n };
  const note = (ofDatabase: bigint | undefined, ofSimulated: bigint | undefined): void => {
    if (ofDatabase !== undefined) newest.database = ofDatabase;
    if (ofSimulated !== undefined) newest.simulated = ofSimulated;
  };
  let holds = 0;
  for (let n = 0; n < 200; n += 1) {
    const replicaId = REPLICAS[below(3)] ?? '';
    const owner = below(3) === 0 ? `hold:same${below(2)}` : replicaId;
    const nanos = BigInt(below(900) + 1);
    const kind = below(6);
    let results: readonly [unknown, unknown];
    if (kind === 0) {
      const input = {
        userId,
        replicaId,
        ...need(nanos, nanos * 2n),
        ahead: BigInt(below(2)) * nanos * 4n,
        unit: nanos,
      };
      const [one, other] = [await store.take(input), simulated.take(input)];
      note(one.newest, other.newest);
      results = [one, other];
    } else if (kind <= 2) {
      const input = { userId, owner, nanos, unused: nanos / BigInt(below(3) + 2), isNew: below(2) === 0 };
      const [one, other] = [await store.wish(input), simulated.wish(input)];
      await moveLooks(JUST_NOW);
      note(one.newest, other.newest);
      results = [one, other];
    } else if (kind <= 4) {
      const lease = simulated.wallets.get(userId)?.leases.get(replicaId);
      const version = below(4) === 0 ? 1n : lease?.version;
      const part = ((lease?.nanos ?? 0n) * BigInt(below(5))) / 4n;
      const isAnswer = below(3) > 0;
      const input = { userId, replicaId, nanos: part, version };
      results = [
        await store.giveBack({ ...input, answer: isAnswer ? newest.database : undefined }),
        simulated.giveBack({ ...input, answer: isAnswer ? newest.simulated : undefined }),
      ];
    } else if (below(3) === 0) {
      await store.withdraw({ userId, owner });
      simulated.withdraw({ userId, owner });
      results = [0, 0];
    } else {
      holds += 1;
      const amount = nanos / 100n + 1n;
      results = [
        await holdFor(userId, amount, `hold:same-${holds}`),
        simulated.hold(userId, amount, `hold:same-${holds}`),
      ];
    }
    assert.equal(shown(results[0]), shown(results[1]), `step ${n}, kind ${kind}`);
    const wanted = async (of: LeaseStore | SimulatedLedger) =>
      (await Promise.all(REPLICAS.map((id) => of.wanted(id)))).map(
        (users) => users.filter((one) => one.userId === userId).length,
      );
    assert.deepEqual(await wanted(store), await wanted(simulated), `step ${n}, kind ${kind}`);
  }
  const { credits, debits, held } = simulated.wallets.get(userId) ?? assert.fail();
  assert.deepEqual(await readBalance(db, userId), { available: credits - debits - held, held });
  assert.ok(holds > 10);
  await db.deleteFrom('wishes').execute();
});
