/** What the tests of this folder share. Run as a program it is the process that crash tests end: see `crashHere` below. */
import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { type Clock, type FakeClock, silentLog, systemClock } from '../../src/core/index.ts';
import { type Db, openDatabase } from '../../src/db/index.ts';
import type { CrashPoint } from '../../src/ledger/crash-points.ts';
import { type Metering, type MeteringOptions, startMetering } from '../../src/ledger/metering.ts';
import { newRecordId, type UsageRecord } from '../../src/ledger/usage-record.ts';
import { credit } from '../../src/ledger/wallets/wallets.ts';

export const FAR_FUTURE = new Date(Date.UTC(2090, 0));

/** A user with so much money. */
export async function makeUser(db: Db, id: string, nanos = 0n): Promise<string> {
  await db.insertInto('users').values({ id }).execute();
  if (nanos > 0n) await credit(db, { userId: id, nanos, reference: `open:${id}`, reason: 'test' });
  return id;
}

export const usageRecord = (userId: string, nanos: bigint, over: Partial<UsageRecord> = {}): UsageRecord => ({
  id: newRecordId(),
  at: Date.UTC(2026, 10, 15, 12),
  userId,
  keyId: 'key_1',
  groupId: 'openai',
  accountId: 'oa1',
  model: 'gpt-5',
  operation: 'chat.create',
  usage: { input: 100, cacheRead: 20, cacheWrite: 0, output: 10, reasoning: 4 },
  images: 0,
  nanos,
  priceId: 7n,
  estimated: false,
  requestId: 'req_1',
  ...over,
});

export const metering = (
  options: Pick<MeteringOptions, 'db' | 'dataDir'> & Partial<MeteringOptions> & { clock?: Clock | FakeClock },
): Promise<Metering> => startMetering({ clock: systemClock, log: silentLog, ...options });

/** Runs `task` for 0 .. count-1, so many at a time. */
export async function inParallel(width: number, count: number, task: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await task(n);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** Small, seeded and good enough to choose operations: a run can be repeated. */
export function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    const mixed = Math.imul(state ^ (state >>> 13), 0x297a2d39) >>> 0;
    return ((mixed ^ (mixed >>> 16)) >>> 0) % below;
  };
}

export interface CrashPlan {
  readonly url: string;
  readonly dataDir: string;
  readonly userId: string;
  /** Ends at the `nth` time that this step is reached. */
  readonly step: CrashPoint;
  readonly nth: number;
  readonly calls: number;
  readonly bound: string;
  readonly cost: string;
}

/** Makes calls until it is killed at the step; says which of them were promised to be safe. */
async function crashHere(plan: CrashPlan): Promise<void> {
  const { db } = openDatabase(plan.url, 4);
  let left = plan.nth;
  const at = await metering({
    db,
    dataDir: plan.dataDir,
    // So small that segments are begun and removed within a few records.
    segmentBytes: 1_000,
    onStep: (step) => {
      if (step !== plan.step) return;
      left -= 1;
      if (left === 0) process.kill(process.pid, 'SIGKILL');
    },
  });
  for (let n = 0; n < plan.calls; n += 1) {
    const reservation = await at.admit(plan.userId, BigInt(plan.bound));
    const record = usageRecord(plan.userId, BigInt(plan.cost));
    reservation.settle(record);
    await at.flushed();
    writeSync(1, `safe ${record.id}\n`);
    if (n % 5 === 4) await at.drain();
  }
  // Whatever is left to come, giving back what is leased for one, comes by itself.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  writeSync(1, 'survived\n');
  process.exit(0);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await crashHere(JSON.parse(process.argv[2] ?? '') as CrashPlan);
