import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { silentLog } from '../../core/index.ts';
import { Pool } from './pool.ts';
import { SharedHealth } from './shared-health.ts';

let fixture: LedgerFixture;
before(async () => {
  fixture = await openLedgerFixture(2);
});
after(() => fixture.close());

test('a process that goes on under a new id does not count its own requests as those of another', async () => {
  const account = { id: 'a', limits: { rpm: 2 } };
  const pool = new Pool(new FakeClock());
  const health = (replicaId: () => string, of: Pool): Promise<SharedHealth> =>
    SharedHealth.start({
      db: fixture.db,
      pool: of,
      accounts: () => [account],
      replicaId,
      clock: new FakeClock(),
      log: silentLog,
    });
  let id = 'rep_one';
  const one = await health(() => id, pool);
  pool.usage.begin(account);
  await one.sync();
  id = 'rep_two';
  await one.sync();
  assert.equal(pool.usage.reached(account, 0), undefined);
  const other = new Pool(new FakeClock());
  const two = await health(() => 'rep_three', other);
  other.usage.begin(account);
  await two.sync();
  assert.equal(other.usage.reached(account, 0)?.limit, 'rpm', 'the request of the other process counts once');
  await two.stop();
  await one.stop();
});
