import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { type LedgerFixture, openLedgerFixture } from '../../../test/support/ledger.ts';
import { makeUser, usageRecord } from '../../../test/support/ledger-process.ts';
import { longTest } from '../../../test/support/long-test.ts';
import { until } from '../../../test/support/wait.ts';
import { formatNanos, silentLog, systemClock } from '../../core/index.ts';
import { connect, type Db, openDatabase } from '../../platform/db/index.ts';
import type { UsageRecord } from '../usage-record.ts';
import { readBalance } from '../wallets/wallets.ts';
import { Flusher } from './flusher.ts';
import { Journal } from './journal.ts';
import { UsageWriter } from './usage-writer.ts';

let fixture: LedgerFixture;
let db: Db;
let dir: string;

before(async () => {
  fixture = await openLedgerFixture();
  ({ db, dir } = fixture);
});
after(() => fixture.close());

/** A flusher without leases. */
const flusherOf = (writer: Pick<UsageWriter, 'write'>, clock = systemClock) => {
  const journal = new Journal({ dir: mkdtempSync(join(dir, 'j-')), clock, log: silentLog });
  const flushed: UsageRecord[] = [];
  const flusher = new Flusher({
    writer,
    journal,
    replica: { id: 'rep_x' },
    clock,
    log: silentLog,
    onFlushed: (records) => void flushed.push(...records),
  });
  return { journal, flusher, flushed };
};

/** Lets the flusher work for this many turns of the event loop. */
const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) await new Promise(setImmediate);
};

test('Flusher writes a first record soon, then those of a whole second at once when no replica waits for them', async () => {
  const clock = new FakeClock();
  const batches: number[] = [];
  const write = async (_id: string, records: readonly UsageRecord[]) => {
    batches.push(records.length);
    return [];
  };
  const { journal, flusher } = flusherOf({ write }, clock);
  for (let n = 0; n < 440; n += 1) {
    journal.append(usageRecord('ann', 1n));
    clock.advance(5);
    await turns(1);
  }
  await turns(20);
  const [first = 0, ...later] = batches;
  assert.ok(first >= 40 && first < 60, `${first} records after 0.2 s`);
  assert.deepEqual([later.length, first + later.reduce((sum, count) => sum + count, 0)], [2, 440]);
  journal.append(usageRecord('ann', 1n));
  flusher.flushSoon();
  clock.advance(200);
  await turns(20);
  assert.deepEqual(batches.slice(3), [1]);
  await flusher.stop();
  await journal.close();
});

test('Flusher reads a large batch in slices, so that other work runs in between', async () => {
  let isWritten = false;
  const write = async () => {
    isWritten = true;
    return [];
  };
  const { journal, flusher, flushed } = flusherOf({ write }, new FakeClock());
  const appended = Array.from({ length: 500 }, () => usageRecord('ann', 1n));
  for (const record of appended) journal.append(record);
  const drained = flusher.drain();
  let turnsBefore = 0;
  for (; !isWritten; turnsBefore += 1) await turns(1);
  await drained;
  assert.ok(turnsBefore >= 5, `the batch was read in ${turnsBefore} turns`);
  assert.deepEqual(flushed, appended);
  await flusher.stop();
  await journal.close();
});

test('Flusher charges no more than some hundred wallets at once, and goes on with the others', async () => {
  const batches: number[] = [];
  const write = async (_id: string, records: readonly UsageRecord[]) => {
    batches.push(new Set(records.map(({ userId }) => userId)).size);
    return [];
  };
  const { journal, flusher, flushed } = flusherOf({ write }, new FakeClock());
  for (let n = 0; n < 2_000; n += 1) journal.append(usageRecord(`user-${n % 1_900}`, 1n));
  await until('all records to be written', () => flushed.length === 2_000);
  assert.ok(
    batches.every((wallets) => wallets < 550),
    String(batches),
  );
  await flusher.stop();
  await journal.close();
});

test('Flusher keeps all records and backs off while the database is down', async () => {
  const clock = new FakeClock();
  let calls = 0;
  let isDown = true;
  const write = async () => {
    calls += 1;
    if (isDown) throw Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
    return [];
  };
  const { journal, flusher, flushed } = flusherOf({ write }, clock);
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await turns(50);
  };
  for (let n = 0; n < 2_500; n += 1) journal.append(usageRecord('ann', 1n));
  await pass(0);
  assert.equal(calls, 1);
  for (let n = 0; n < 60; n += 1) await pass(1_000);
  assert.ok(calls >= 8 && calls <= 14, `${calls} tries in a minute`);
  assert.equal(journal.pending, 2_500);
  isDown = false;
  for (let n = 0; n < 15; n += 1) await pass(1_000);
  assert.equal(journal.pending, 0);
  assert.equal(flushed.length, 2_500);
  await flusher.stop();
  await journal.close();
});

test('Flusher writes everything once the database accepts connections again', async () => {
  await makeUser(db, 'hal', 100_000n);
  const other = openDatabase(fixture.url, 2);
  const { journal, flusher } = flusherOf(new UsageWriter({ db: other.db, log: silentLog }));
  const name = new URL(fixture.url).pathname.slice(1);
  const admin = await connect(process.env.TEST_DATABASE_URL ?? '');
  await admin.query(`alter database ${name} allow_connections false`);
  for (let n = 0; n < 3_000; n += 1) journal.append(usageRecord('hal', 1n));
  await assert.rejects(flusher.drain(), /not currently accepting connections/);
  assert.equal(journal.pending, 3_000);
  await admin.query(`alter database ${name} allow_connections true`);
  await admin.end();
  await until('everything to arrive', () => journal.pending === 0);
  assert.equal((await readBalance(db, 'hal')).available, 97_000n);
  await flusher.stop();
  await journal.close();
  await other.close();
});

longTest('Flusher writes thousands of records per second to one wallet', async (t) => {
  await makeUser(db, 'hot', 10n ** 12n);
  const { journal, flusher } = flusherOf(new UsageWriter({ db, log: silentLog }));
  const TOTAL = 20_000;
  const begun = performance.now();
  for (let n = 0; n < TOTAL; n += 1) {
    journal.append(usageRecord('hot', 1_000n));
    if (n % 100 === 0) await journal.whenWritten();
  }
  const written = performance.now();
  await until('everything to be recorded', () => journal.pending === 0);
  const done = performance.now();
  await flusher.stop();
  await journal.close();
  assert.equal((await readBalance(db, 'hot')).available, 10n ** 12n - BigInt(TOTAL) * 1_000n);
  const rate = (ms: number): number => Math.round((TOTAL / ms) * 1_000);
  t.diagnostic(
    `${TOTAL} records: appended ${rate(written - begun)}/s, in the database ${rate(done - begun)}/s, charged ${formatNanos(BigInt(TOTAL) * 1_000n)}`,
  );
});
