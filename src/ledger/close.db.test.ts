// set: all; replicas that close under load
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type LedgerFixture, openLedgerFixture } from '../../test/support/ledger.ts';
import { FAR_FUTURE, makeUser, metering, random, usageRecord } from '../../test/support/ledger-process.ts';
import { ApiError } from '../core/index.ts';
import type { Db } from '../platform/db/index.ts';
import { checkLedger } from './wallets/check.ts';
import { credit, hold, readBalance, release, settle } from './wallets/wallets.ts';

let fixture: LedgerFixture;
let db: Db;
let dataDir: string;

before(async () => {
  fixture = await openLedgerFixture(20);
  ({ db, dir: dataDir } = fixture);
});
after(() => fixture.close());

const USERS = ['uma', 'ugo', 'una', 'udo'];
const OPENING = 1_000_000n;
const LANES = 3;
const RUNS = 25;

test('Metering leaves nothing behind, and the ledger always adds up, when replicas close under load', async (t) => {
  for (const user of USERS) await makeUser(db, user, OPENING);
  const choose = random(Number(process.env.SEED ?? 20261115));
  const written = new Map<string, bigint>();
  let isOver = false;
  let checks = 0;

  /** Checks the ledger without a pause, which a job does every minute. */
  const watching = (async () => {
    for (; !isOver; checks += 1) await checkLedger(db);
  })();

  /** Holds on the same wallets. */
  const holding = (async () => {
    for (let n = 0; !isOver; n += 1) {
      const userId = USERS[choose(USERS.length)] ?? '';
      const reference = `work:${n}`;
      await hold(db, { userId, nanos: BigInt(choose(5_000)), reference, checkAfter: FAR_FUTURE });
      if (choose(2) === 0) await release(db, reference);
      else await settle(db, reference, { nanos: BigInt(choose(9_000)), reason: 'test' });
      if (n % 10 === 0) await credit(db, { userId, nanos: 10_000n, reference: `more:${n}`, reason: 'test' });
    }
  })();

  /** Starts one replica after another and closes each at a random moment while calls are open. */
  const lane = async (): Promise<void> => {
    for (let run = 0; run < RUNS; run += 1) {
      const at = await metering({ db, dataDir, segmentBytes: 2_000 });
      const call = async (): Promise<void> => {
        for (let isOpen = true; isOpen; ) {
          const userId = USERS[choose(USERS.length)] ?? '';
          const maxCost = BigInt(choose(3_000) + 1);
          try {
            const reservation = await at.admit(userId, maxCost);
            if (choose(3) === 0) await new Promise((resolve) => setTimeout(resolve, choose(8)));
            if (choose(10) === 0) {
              reservation.release();
              continue;
            }
            // Some cost more than their reservation, a few of them much more.
            const max = Number(maxCost) * (choose(20) === 0 ? 10 : 1) + 400;
            const record = usageRecord(userId, BigInt(choose(max)));
            reservation.settle(record);
            await at.whenWrittenOrFailed();
            written.set(record.id, record.nanos);
          } catch (error) {
            assert.ok(error instanceof ApiError, String(error));
            isOpen = error.code !== 'shutting_down';
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        }
      };
      const calls = Array.from({ length: 8 }, call);
      await new Promise((resolve) => setTimeout(resolve, choose(60)));
      await Promise.all([at.close(), ...calls]);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane)).finally(() => {
    isOver = true;
  });
  await Promise.all([watching, holding]);
  await checkLedger(db);
  t.diagnostic(`${written.size} calls, ${checks} checks`);

  assert.deepEqual(await db.selectFrom('replicas').select('id').execute(), []);
  assert.deepEqual(await db.selectFrom('leases').selectAll().execute(), []);
  assert.deepEqual(readdirSync(join(dataDir, 'journal')), []);
  const rows = await db.selectFrom('usage_records').select(['id', 'nanos']).execute();
  assert.deepEqual(
    new Map(rows.map(({ id, nanos }) => [id, nanos])),
    written,
    'each call is charged once, at its cost',
  );
  for (const user of USERS) assert.equal((await readBalance(db, user)).held, 0n);
  const { rows: sums } = await sql<{ used: bigint }>`
    select coalesce(sum(nanos), 0)::bigint as used from entries where kind in ('usage', 'overdraft')`.execute(db);
  assert.equal(
    sums[0]?.used,
    [...written.values()].reduce((sum, nanos) => sum + nanos, 0n),
  );
});
