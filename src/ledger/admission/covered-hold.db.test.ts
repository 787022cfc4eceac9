/** Holds that need what idles in leases of replicas, beside calls that need the same money. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { FAR_FUTURE, makeUser, metering, usageRecord } from '../../../test/support/ledger-process.ts';
import { ApiError, type Nanos, systemClock } from '../../core/index.ts';
import type { Metering } from '../metering.ts';
import { hold, readBalance, release } from '../wallets/wallets.ts';
import { holdOnceCovered } from './covered-hold.ts';
import { InsufficientBalance } from './wallet-state.ts';

let fixture: LedgerFixture;
let replicas: readonly Metering[];
before(async () => {
  fixture = await openLedgerFixture(10);
  const start = () => metering({ db: fixture.db, dataDir: fixture.dir });
  replicas = [await start(), await start(), await start()];
});
after(async () => {
  for (const at of replicas) await at.close();
  await fixture.close();
});

const holdFor = (userId: string, nanos: Nanos, reference: string): Promise<unknown> => {
  const refusal = (available: Nanos) => new InsufficientBalance(available);
  return holdOnceCovered({ db: fixture.db, clock: systemClock }, { userId, nanos, reference, refusal }, async () =>
    hold(fixture.db, { userId, nanos, reference, checkAfter: FAR_FUTURE }),
  );
};
/** Leaves this much in the lease of each of the first replicas. */
const leaveIdle = async (userId: string, ...amounts: Nanos[]): Promise<void> => {
  const reservations = await Promise.all(amounts.map((nanos, n) => replicas[n]?.admit(userId, nanos)));
  for (const reservation of reservations) reservation?.release();
};
const isShort = (error: unknown): false => {
  assert.ok(error instanceof ApiError && error.code === 'insufficient_balance', String(error));
  return false;
};
const wishes = (userId: string) => fixture.db.selectFrom('wishes').selectAll().where('user_id', '=', userId).execute();

test('of holds and calls on several replicas, as many get the idle money as it pays for', async () => {
  const userId = await makeUser(fixture.db, 'mixed', 1_000n);
  await leaveIdle(userId, 300n, 300n, 300n);
  const results = await Promise.all([
    ...[0, 1].map((n) => holdFor(userId, 400n, `hold:mixed${n}`).then(() => true, isShort)),
    ...replicas.map(async (at) => {
      try {
        return await at.admit(userId, 400n);
      } catch (error) {
        return isShort(error);
      }
    }),
  ]);
  assert.equal(results.filter((result) => result !== false).length, 2);
  for (const result of results) if (typeof result === 'object') result.release();
  for (const n of [0, 1]) await release(fixture.db, `hold:mixed${n}`);
  assert.deepEqual(await wishes(userId), []);
});

test('a hold is refused when the money is in use, with what is available and without a wish that stays', async () => {
  const userId = await makeUser(fixture.db, 'taken', 500n);
  const open = await replicas[0]?.admit(userId, 300n);
  await assert.rejects(holdFor(userId, 400n, 'hold:taken'), (error: unknown) => {
    assert.ok(error instanceof InsufficientBalance);
    return error.available === 200n;
  });
  assert.deepEqual(await wishes(userId), []);
  open?.settle(usageRecord(userId, 300n));
});

test('a hold that fails for another reason leaves no wish', async () => {
  const userId = await makeUser(fixture.db, 'failing', 500n);
  await leaveIdle(userId, 300n);
  let attempts = 0;
  const attempt = async (): Promise<'short'> => {
    attempts += 1;
    if (attempts > 1) throw new Error('not now');
    return 'short';
  };
  const need = { userId, nanos: 400n, reference: 'hold:failing', refusal: () => new Error('short') };
  await assert.rejects(holdOnceCovered({ db: fixture.db, clock: systemClock }, need, attempt), /not now/);
  assert.deepEqual(await wishes(userId), []);
  assert.equal((await readBalance(fixture.db, userId)).available, 500n);
});
