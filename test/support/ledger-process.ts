/** Fixtures of the ledger tests. Run as a program, it is the process that crash tests kill: see `runUntilCrash`. */
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { type Clock, silentLog, systemClock } from '../../src/core/index.ts';
import { CRASH_POINT_CHANNEL, type CrashPoint } from '../../src/ledger/crash-points.ts';
import { Metering, type MeteringOptions } from '../../src/ledger/metering.ts';
import { createUsageRecord, newRecordId, type UsageFields, type UsageRecord } from '../../src/ledger/usage-record.ts';
import { credit } from '../../src/ledger/wallets/wallets.ts';
import { type Db, openDatabase } from '../../src/platform/db/index.ts';
import type { FakeClock } from './fake-clock.ts';

export const FAR_FUTURE = new Date(Date.UTC(2090, 0));

/** Creates a user with an opening balance. */
export async function makeUser(db: Db, id: string, nanos = 0n): Promise<string> {
  await db.insertInto('users').values({ id }).execute();
  if (nanos > 0n) await credit(db, { userId: id, nanos, reference: `open:${id}`, reason: 'test' });
  return id;
}

export const usageRecord = (userId: string, nanos: bigint, over: Partial<UsageFields> = {}): UsageRecord =>
  createUsageRecord({
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
): Promise<Metering> => Metering.start({ clock: systemClock, log: silentLog, ...options });

/** Runs `task` for 0 to count-1, at most `width` at a time. */
export async function inParallel(width: number, count: number, task: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await task(n);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

/** A seeded generator of random integers, so that a run can be repeated. */
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
  /** The process is killed when it reaches this point for the `nth` time. */
  readonly point: CrashPoint;
  readonly nth: number;
  readonly calls: number;
  readonly maxCost: string;
  readonly cost: string;
}

/** Makes calls until it is killed, and prints the id of each record that was reported as written. */
async function runUntilCrash(plan: CrashPlan): Promise<void> {
  const { db } = openDatabase(plan.url, 4);
  let left = plan.nth;
  subscribe(CRASH_POINT_CHANNEL, (point) => {
    if (point !== plan.point) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  });
  // So small that segments are rotated and removed within a few records.
  const at = await metering({ db, dataDir: plan.dataDir, segmentBytes: 1_000 });
  for (let n = 0; n < plan.calls; n += 1) {
    const reservation = await at.admit(plan.userId, BigInt(plan.maxCost));
    const record = usageRecord(plan.userId, BigInt(plan.cost));
    reservation.settle(record);
    await at.whenWrittenOrFailed();
    writeSync(1, `written ${record.id}\n`);
    if (n % 5 === 4) await at.drain();
  }
  // Leaves time for periodic work, such as returning idle leases.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  writeSync(1, 'survived\n');
  process.exit(0);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  // Not awaited, so that test files can be loaded with require().
  void runUntilCrash(JSON.parse(process.argv[2] ?? '') as CrashPlan);
