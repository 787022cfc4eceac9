import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type LedgerBed, openLedgerBed } from '../../test/support/ledger.ts';
import { FAR_FUTURE, makeUser, metering, random, usageRecord } from '../../test/support/ledger-process.ts';
import { ApiError } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import { available, checkLedger, credit, hold, release, settle } from './wallets/wallets.ts';

let bed: LedgerBed;
let db: Db;
let dataDir: string;

before(async () => {
  bed = await openLedgerBed(20);
  ({ db, dir: dataDir } = bed);
});
after(() => bed.close());

const USERS = ['uma', 'ugo', 'una', 'udo'];
const OPENING = 1_000_000n;
const LANES = 3;
const RUNS = 25;

test('replicas that stop in the middle of traffic leave a ledger that adds up at every moment, and nothing behind', async (t) => {
  for (const user of USERS) await makeUser(db, user, OPENING);
  const choose = random(Number(process.env.SEED ?? 20261115));
  const safe = new Map<string, bigint>();
  let isOver = false;
  let looks = 0;

  /** What the worker does every minute, all the time. */
  const watching = (async () => {
    for (; !isOver; looks += 1) await checkLedger(db);
  })();

  /** Work that is paid by holds, on the same wallets. */
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

  /** One replica after another, each stopped at a random moment while its calls go on. */
  const lane = async (): Promise<void> => {
    for (let run = 0; run < RUNS; run += 1) {
      const at = await metering({ db, dataDir, segmentBytes: 2_000 });
      const call = async (): Promise<void> => {
        for (let isOpen = true; isOpen; ) {
          const userId = USERS[choose(USERS.length)] ?? '';
          const bound = BigInt(choose(3_000) + 1);
          try {
            const reservation = await at.admit(userId, bound);
            if (choose(3) === 0) await new Promise((resolve) => setTimeout(resolve, choose(8)));
            if (choose(10) === 0) {
              reservation.release();
              continue;
            }
            // Some cost more than they were admitted for, a few of them much more.
            const most = Number(bound) * (choose(20) === 0 ? 10 : 1) + 400;
            const record = usageRecord(userId, BigInt(choose(most)));
            reservation.settle(record);
            await at.flushed();
            safe.set(record.id, record.nanos);
          } catch (error) {
            assert.ok(error instanceof ApiError, String(error));
            isOpen = error.code !== 'shutting_down';
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        }
      };
      const calls = Array.from({ length: 8 }, call);
      await new Promise((resolve) => setTimeout(resolve, choose(60)));
      // Calls are open, and leases on their way.
      await Promise.all([at.close(), ...calls]);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane)).finally(() => {
    isOver = true;
  });
  await Promise.all([watching, holding]);
  await checkLedger(db);
  t.diagnostic(`${safe.size} calls, ${looks} looks`);

  assert.deepEqual(await db.selectFrom('replicas').select('id').execute(), []);
  assert.deepEqual(await db.selectFrom('leases').selectAll().execute(), []);
  assert.deepEqual(readdirSync(join(dataDir, 'journal')), []);
  const rows = await db.selectFrom('usage_records').select(['id', 'nanos']).execute();
  assert.deepEqual(new Map(rows.map(({ id, nanos }) => [id, nanos])), safe, 'each call is charged once, at its cost');
  for (const user of USERS) assert.equal((await available(db, user)).held, 0n);
  const { rows: sums } = await sql<{ used: bigint }>`
    select coalesce(sum(nanos), 0)::bigint as used from entries where kind in ('usage', 'overdraft')`.execute(db);
  assert.equal(
    sums[0]?.used,
    [...safe.values()].reduce((sum, nanos) => sum + nanos, 0n),
  );
});
