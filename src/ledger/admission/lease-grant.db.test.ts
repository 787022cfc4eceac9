/** The amount of a lease, computed in the database and by the function that the simulation uses. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { makeUser, random } from '../../../test/support/ledger-process.ts';
import { removeReplica } from '../records/replica.ts';
import { grantOf, type LeaseNeed, takeLease } from './lease-queries.ts';
import { wish } from './wishes.ts';

let fixture: LedgerFixture;
before(async () => {
  fixture = await openLedgerFixture(2);
});
after(() => fixture.close());

test('the database grants what grantOf says, from empty to full wallets', async () => {
  const { db } = fixture;
  const below = random(7);
  await db.insertInto('replicas').values({ id: 'rep_grant', host: 'test' }).execute();
  for (let n = 0; n < 24; n += 1) {
    const available = BigInt(below(n % 3 === 0 ? 50 : 100_000));
    const userId = await makeUser(db, `grant${n}`, available);
    const unit = BigInt(below(500) + 1);
    // The first may be negative: a part of the lease is free.
    let sum = -BigInt(below(300));
    const needs = Array.from({ length: below(6) }, () => {
      sum += BigInt(below(2_000));
      return sum;
    });
    const need: LeaseNeed = { needs, ahead: unit * 32n, unit, recent: BigInt(below(2) * below(60_000)) };
    const taken = await takeLease(db, { userId, replicaId: 'rep_grant', ...need });
    assert.equal(taken.granted, grantOf(available, need), JSON.stringify({ n }));
  }
  await removeReplica(db, 'rep_grant');
});

test('a replica is asked for its lease when that covers what another one lacks, to the last nano', async () => {
  const { db } = fixture;
  const userId = await makeUser(db, 'asked', 100n);
  await db.insertInto('replicas').values({ id: 'rep_rich', host: 'test' }).execute();
  const need: LeaseNeed = { needs: [70n], ahead: 0n, unit: 1n, recent: 0n };
  await takeLease(db, { userId, replicaId: 'rep_rich', ...need });
  const isAsked = async (nanos: bigint): Promise<boolean> => {
    await wish(db, { userId, owner: 'rep_poor', nanos, isNew: true });
    const { is_wanted } = await db.selectFrom('leases').select('is_wanted').executeTakeFirstOrThrow();
    return is_wanted;
  };
  assert.deepEqual([await isAsked(101n), await isAsked(100n)], [false, true]);
  await removeReplica(db, 'rep_rich');
});
