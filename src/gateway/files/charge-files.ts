/** The price of kept files, where operators set one: charged once a UTC day, for what each user keeps then. */
import { sql } from 'kysely';
import { type Clock, formatNanos, type Nanos } from '../../core/index.ts';
import { charge, createUsageRecord, recordUsage } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';

export interface FileCharging {
  readonly db: Db;
  readonly clock: Clock;
  /** Per GiB and day; zero charges nothing. */
  readonly price: Nanos;
}

interface Keeper {
  readonly user_id: string;
  readonly bytes: bigint;
  readonly multiplier_ppm: bigint;
}

/** Users of one query. Each begins after the last one, so that all of them together read every file once. */
const PAGE = 200;
const GIB = 2n ** 30n;
const MILLION = 1_000_000n;

/** Returns how many users were charged. A charge is booked once by its reference, however many servers run this. */
export async function chargeFiles({ db, clock, price }: FileCharging): Promise<number> {
  if (price === 0n) return 0;
  const now = clock.now();
  const day = new Date(now).toISOString().slice(0, 10);
  const isDone = await sql`select from file_charges where day = ${day}::date`.execute(db);
  if (isDone.rows.length > 0) return 0;
  let count = 0;
  for (let page = await keepersAfter(db, day, ''); page.length > 0; ) {
    for (const keeper of page) await chargeKeeper(db, keeper, { day, now, price });
    count += page.length;
    page = await keepersAfter(db, day, page.at(-1)?.user_id ?? '');
  }
  await sql`insert into file_charges (day) values (${day}) on conflict do nothing`.execute(db);
  return count;
}

/** Users who keep files and are not charged for the day yet. */
async function keepersAfter(db: Db, day: string, userId: string): Promise<readonly Keeper[]> {
  const { rows } = await sql<Keeper>`
    select f.user_id, sum(f.bytes)::bigint as bytes, u.multiplier_ppm from files f join users u on u.id = f.user_id
    where f.user_id > ${userId} and f.completed_at is not null and f.expires_at > now()
      and f.bytes > 0 and u.multiplier_ppm > 0
      and not exists (select from entries where reference = concat('files:', ${day}::text, ':', f.user_id))
    group by f.user_id, u.multiplier_ppm order by f.user_id limit ${PAGE}`.execute(db);
  return rows;
}

interface ChargedDay {
  readonly day: string;
  readonly now: number;
  readonly price: Nanos;
}

/** The charge and its usage record are one transaction. */
function chargeKeeper(db: Db, keeper: Keeper, { day, now, price }: ChargedDay): Promise<void> {
  const { user_id: userId, bytes, multiplier_ppm: ppm } = keeper;
  const unit = GIB * MILLION;
  const nanos = (bytes * price * ppm + unit - 1n) / unit;
  const reference = `files:${day}:${userId}`;
  const multiplier = formatNanos(ppm * 1000n);
  const reason = `Files of ${day}: ${bytes} bytes at ${formatNanos(price)} per GiB and day, x ${multiplier}`;
  const record = createUsageRecord({
    id: reference,
    at: now,
    userId,
    keyId: '',
    groupId: '',
    accountId: '',
    requestId: '',
    model: 'files',
    operation: 'files.keep',
    usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 },
    images: 0,
    nanos,
    priceId: null,
    estimated: false,
  });
  return db.transaction().execute(async (tx) => {
    // No provider is paid for it.
    if (await charge(tx, { userId, nanos, reference, reason }))
      await recordUsage(tx, [record], new Map([[record, 0n]]));
  });
}
