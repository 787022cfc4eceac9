/**
 * `npm run bench -- ledger`: records per second from reservation to charge in the database, on one wallet. This is the worst case,
 * because every batch waits for the same row. Embedded PostgreSQL with production settings, fsync on.
 */
import { silentLog } from '../src/core/index.ts';
import { createUsageRecord, Metering, newRecordId } from '../src/ledger/index.ts';
import { openBenchFixture } from './fixture.ts';
import { describeMachine } from './machine.ts';
import { median } from './quantile.ts';

const REPEATS = 5;
const RECORDS = 20_000;
const AT_ONCE = 64;
const GOAL = 5_000;

const { context, caller, close } = await openBenchFixture();
const { clock, database, config } = context;
const metering = await Metering.start({ db: database.db, dataDir: config.DATA_DIR, clock, log: silentLog });

try {
  const rates: number[] = [];
  for (let n = 0; n < REPEATS; n += 1) {
    const begun = performance.now();
    for (let at = 0; at < RECORDS; at += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, () => charge()));
      await metering.whenWrittenOrFailed();
    }
    await metering.drain();
    rates.push((RECORDS / (performance.now() - begun)) * 1000);
  }
  const { count } = await database.db
    .selectFrom('usage_records')
    .select((of) => of.fn.countAll<bigint>().as('count'))
    .executeTakeFirstOrThrow();
  const sent = REPEATS * Math.ceil(RECORDS / AT_ONCE) * AT_ONCE;
  if (count !== BigInt(sent)) throw new Error(`${count} records arrived of ${sent}`);
  const middle = median(rates);
  console.log(`Machine: ${describeMachine()}. ${REPEATS} x ${RECORDS} records on one wallet.`);
  console.log(
    `${Math.round(middle)} records per second (${Math.round(Math.min(...rates))} to ${Math.round(Math.max(...rates))}); goal ${GOAL}: ${middle >= GOAL ? 'met' : 'missed'}.`,
  );
} finally {
  await metering.close();
  await close();
}

async function charge(): Promise<void> {
  const reservation = await metering.admit(caller.key.userId, 5_000_000n, caller.key);
  const record = createUsageRecord({
    id: newRecordId(),
    at: clock.now(),
    userId: caller.key.userId,
    keyId: caller.key.id,
    groupId: caller.group.id,
    accountId: 'mock-messages',
    model: 'bench-burst',
    operation: 'messages.create',
    usage: { input: 312, cacheRead: 0, cacheWrite: 0, output: 180 },
    images: 0,
    nanos: 3_636_000n,
    priceId: null,
    estimated: false,
    requestId: 'req_bench',
  });
  reservation.settle(record);
}
