/** What the tests of this folder share. */
import { type Clock, type FakeClock, silentLog, systemClock } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import { credit } from './ledger.ts';
import { type Metering, type MeteringOptions, startMetering } from './metering.ts';
import { newRecordId, type UsageRecord } from './usage.ts';

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
