/**
 * Writes usage records, daily roll-ups and one charge per wallet in one transaction.
 * Idempotent by record id; invalid records are never charged.
 */
import { type CompiledQuery, sql } from 'kysely';
import { codeOf, DAY_MS, errorFields, type Log, utcDay } from '../../core/index.ts';
import * as database from '../../platform/db/index.ts';
import { crashPoint } from '../crash-points.ts';
import { type ProviderCosts, providerCosts } from '../pricing/provider-cost.ts';
import { DAILY_SUMS, encodeRecord, storableText, type UsageRecord } from '../usage-record.ts';
import { dailySums } from './daily-sums.ts';
import { packUsage } from './stored-usage.ts';

/** What a replica has leased of a wallet, at a version of the lease. */
export interface LeaseState {
  readonly replicaId: string;
  readonly userId: string;
  readonly nanos: bigint;
  readonly version: bigint;
}

export class UsageWriter {
  readonly #db: database.Db;
  readonly #log: Log;
  readonly #months = new Set<string>();

  onRecorded: (records: readonly UsageRecord[], costs: ProviderCosts) => void = () => {};

  constructor({ db, log }: { db: database.Db; log: Log }) {
    this.#db = db;
    this.#log = log;
  }

  /**
   * Records and charges what is new, from the leases of `replicaId` first;
   * returns those. Throws when the database cannot be used.
   */
  async write(replicaId: string, records: readonly UsageRecord[]): Promise<LeaseState[]> {
    const valid = records.filter(({ invalid }) => invalid === undefined);
    const leases = await this.#writeOrSplit(replicaId, valid);
    for (const record of records) if (record.invalid !== undefined) await this.#quarantine(record, record.invalid);
    return leases;
  }

  /** Creates the partitions of this month and the next one ahead of use. */
  async createMonths(now: number): Promise<void> {
    await this.#createMonth(firstOfMonth(now));
    await this.#createMonth(firstOfMonth(now, 1));
  }

  /** Halves a batch that the database rejects, so that one record that cannot be stored does not block the others. */
  async #writeOrSplit(replicaId: string, records: readonly UsageRecord[], isRetry = false): Promise<LeaseState[]> {
    if (records.length === 0) return [];
    try {
      return await this.#writeBatch(replicaId, records);
    } catch (error) {
      if (!isDataFault(error)) throw error;
      // The partition of a month may have been removed since it was last used.
      this.#months.clear();
      if (!isRetry) return this.#writeOrSplit(replicaId, records, true);
      const [first] = records;
      if (records.length === 1 && first) {
        await this.#quarantine(first, errorFields(error).detail);
        return [];
      }
      const middle = Math.ceil(records.length / 2);
      return [
        ...(await this.#writeOrSplit(replicaId, records.slice(0, middle), true)),
        ...(await this.#writeOrSplit(replicaId, records.slice(middle), true)),
      ];
    }
  }

  async #writeBatch(replicaId: string, records: readonly UsageRecord[]): Promise<LeaseState[]> {
    for (const first of monthsOf(records)) await this.#createMonth(first);
    crashPoint('flush.begun');
    const costs = await providerCosts(this.#db, records, this.#log);
    const rows = await database.encodeRows(records, (record) => rowOf(record, costs.get(record)));
    const write = (isRepeated: boolean) => recordAndCharge(this.#db, { replicaId, records, costs, rows, isRepeated });
    // Only a batch that is written again has records that exist, and looking for them costs every row.
    const { leases, unknownUsers } = await write(false).catch((error: unknown) => {
      if (!isDuplicate(error)) throw error;
      return write(true);
    });
    crashPoint('flush.committed');
    this.onRecorded(records, costs);
    for (const record of unknownUsers) await this.#quarantine(record, 'its user is not known');
    return leases;
  }

  async #createMonth(first: string): Promise<void> {
    if (this.#months.has(first)) return;
    await sql`select usage_month(${first}::date)`.execute(this.#db);
    this.#months.add(first);
  }

  async #quarantine(record: UsageRecord, fault: string): Promise<void> {
    this.#log.error('usage.quarantined', { record: record.id, user: record.userId, fault });
    await this.#db
      .insertInto('usage_quarantine')
      .values({ id: record.id, fault: storableText(fault), raw: encodeRecord(record) })
      .onConflict((c) => c.doNothing())
      .execute();
  }
}

/**
 * Records without charging, in the transaction that settles the hold which pays for it. Not for records of a journal.
 * Every caller says what the provider charges, because a cost that is not booked is missing in limits and margins.
 */
export async function recordUsage(
  tx: database.Tx,
  records: readonly UsageRecord[],
  costs: ProviderCosts,
): Promise<void> {
  for (const first of monthsOf(records)) await sql`select usage_month(${first}::date)`.execute(tx);
  await reopen(tx, [daysOf(records)]);
  const known = await findKnown(tx, records, true);
  const fresh = records.filter(({ id }) => !known.ids.has(id) && known.ids.add(id));
  const rows = await database.encodeRows(fresh, (record) => rowOf(record, costs.get(record)));
  const sums = await insertRecords(tx, fresh, { costs, rows });
  await growDays(tx, [sums]);
}

interface EncodedRecords {
  readonly costs: ProviderCosts;
  readonly rows: database.EncodedRows<UsageRecord>;
}

interface Batch extends EncodedRecords {
  readonly replicaId: string;
  readonly records: readonly UsageRecord[];
  readonly isRepeated: boolean;
}

/**
 * The wallets are locked last, with the commit: calls that need a further lease wait for this lock,
 * not for the rows of the batch or this process.
 */
async function recordAndCharge(db: database.Db, { replicaId, records, isRepeated, ...encoded }: Batch) {
  let unknownUsers: readonly UsageRecord[] = [];
  const results = await database.commitWith(db, async (tx) => {
    const known = await findKnown(tx, records, isRepeated);
    unknownUsers = records.filter(({ userId }) => !known.users.has(userId));
    const owned = records.filter(({ userId }) => known.users.has(userId));
    if (owned.length === 0) return [];
    const fresh = owned.filter(({ id }) => !known.ids.has(id) && known.ids.add(id));
    const sums = await insertRecords(tx, fresh, encoded);
    crashPoint('flush.recorded');
    return chargeUsage(replicaId, owned, sums);
  });
  return { leases: (results.at(-1) ?? []) as LeaseState[], unknownUsers };
}

/**
 * The users that exist, and records that are recorded (only if the batch may be repeated) or quarantined,
 * on which an operator decides.
 */
async function findKnown(tx: database.Db, records: readonly UsageRecord[], isRepeated: boolean) {
  const users = [...new Set(records.map(({ userId }) => userId))];
  const ids = records.map(({ id }) => id);
  const rows = await selectKnown(tx, [users, ids]);
  const known = { users: new Set(rows.map(({ user_id }) => user_id)), ids: new Set(rows.map(({ id }) => id)) };
  if (!isRepeated) return known;
  const times = records.map(({ at }) => at);
  const { rows: recorded } = await sql<{ id: string }>`
    select id from usage_records
    where at between ${new Date(Math.min(...times))} and ${new Date(Math.max(...times))}
    and id = any(${ids})`.execute(tx);
  for (const { id } of recorded) known.ids.add(id);
  return known;
}

const selectKnown = database.prepare<{ id: string | null; user_id: string | null }>(
  'usage_known',
  `select null as id, user_id from wallets where user_id = any($1)
   union all select id, null from usage_quarantine where id = any($2)`,
);

/** Fails when a record exists. Returns what the roll-ups and charges grow by, as JSON. */
async function insertRecords(tx: database.Db, records: readonly UsageRecord[], { costs, rows }: EncodedRecords) {
  await database.copyEncoded(tx, 'usage_records', records, rows);
  return JSON.stringify(dailySums(records, costs));
}

/**
 * One entry per wallet, and an `overdraft` for what the lease does not cover.
 * The last statement is apart: its snapshot must show the locked leases.
 */
function chargeUsage(replicaId: string, records: readonly UsageRecord[], sums: string): readonly CompiledQuery[] {
  // Wallets are never removed, so all that were found are locked.
  const users = [...new Set(records.map(({ userId }) => userId))];
  return [lockWallets.query([users]), reopen.query([daysOf(records)]), chargeSums.query([sums, replicaId, users])];
}

const daysOf = (records: readonly UsageRecord[]): readonly string[] =>
  [...new Set(records.map(({ at }) => Math.floor(at / DAY_MS)))]
    .sort((a, b) => a - b)
    .map((day) => utcDay(day * DAY_MS));

/** Days that were summed for reports are summed again with the new records. */
const reopen = database.prepare('usage_reopen', 'select reopen_usage_days($1::date[])');

const DAILY_NAMES = ['user_id', 'day', 'key_id', 'group_id', 'model', 'account_id', 'operation'] as const;

const SUM_COLUMNS = [
  ...DAILY_NAMES.map((name) => `${name} ${name === 'day' ? 'date' : 'text'}`),
  ...[...DAILY_SUMS, 'charged'].map((name) => `${name} bigint`),
  'first text',
].join(', ');

/** What `dailySums` returned, as a table, by which the roll-ups by day grow. */
const GROW_DAYS = `
  with sums as (select * from jsonb_to_recordset($1::jsonb) as s (${SUM_COLUMNS})),
  daily as (
    insert into usage_daily as d (${[...DAILY_NAMES, ...DAILY_SUMS].join(', ')})
    select ${[...DAILY_NAMES, ...DAILY_SUMS].join(', ')} from sums order by ${DAILY_NAMES.join(', ')}
    on conflict (${DAILY_NAMES.join(', ')}) do update set
      ${DAILY_SUMS.map((name) => `${name} = d.${name} + excluded.${name}`).join(', ')})`;

const growDays = database.prepare('usage_days', `${GROW_DAYS} select 1`);

/** Locked in the order of ids, so that replicas that charge the same users do not deadlock. */
const lockWallets = database.prepare(
  'usage_lock',
  'select user_id from wallets where user_id = any($1) order by user_id for no key update',
);

const chargeSums = database.prepare<LeaseState>(
  'usage_charge',
  `${GROW_DAYS},
  spent as (
    select user_id, sum(nanos)::bigint as nanos, min(first) as first, sum(charged)::bigint as calls
    from sums where nanos > 0 group by user_id),
  covered as (
    select s.*, least(coalesce(l.nanos, 0), s.nanos) as drawn
    from spent s left join leases l on l.user_id = s.user_id and l.replica_id = $2),
  drawn as (
    update leases l set nanos = l.nanos - c.drawn, version = l.version + 1 from covered c
    where l.user_id = c.user_id and l.replica_id = $2 returning l.user_id, l.nanos, l.version),
  charged as (
    update wallets w set debits = w.debits + c.nanos, held = w.held - c.drawn
    from covered c where w.user_id = c.user_id),
  entry as (
    insert into entries (debit, credit, nanos, kind, reference, reason)
    select c.user_id, '@revenue', part.nanos, part.kind, part.kind || ':' || c.first,
      c.calls || case c.calls when 1 then ' call' else ' calls' end
    from covered c, lateral (values ('usage', c.drawn), ('overdraft', c.nanos - c.drawn)) part (kind, nanos)
    where part.nanos > 0 order by c.user_id)
  select l.replica_id as "replicaId", l.user_id as "userId",
    coalesce(d.nanos, l.nanos) as nanos, coalesce(d.version, l.version) as version
  from leases l left join drawn d using (user_id)
  where l.replica_id = $2 and l.user_id = any($3)`,
);

const rowOf = (record: UsageRecord, cost: bigint | undefined) => {
  const { usage } = record;
  return {
    id: record.id,
    at: new Date(record.at).toISOString(),
    user_id: record.userId,
    key_id: record.keyId,
    group_id: record.groupId,
    account_id: record.accountId,
    model: storableText(record.model),
    operation: record.operation,
    request_id: storableText(record.requestId),
    input_tokens: usage.input ?? 0,
    cached_input_tokens: usage.cacheRead ?? 0,
    cache_write_tokens: usage.cacheWrite ?? 0,
    output_tokens: usage.output ?? 0,
    reasoning_tokens: usage.reasoning ?? 0,
    images: record.images,
    usage: packUsage(usage),
    nanos: record.nanos,
    price_id: record.priceId,
    estimated: record.estimated,
    cost_nanos: cost,
    fault: record.fault,
  } satisfies Partial<Record<keyof database.Rows['usage_records'], database.CopiedValue>>;
};

/**
 * The first days of the months of the records.
 * A batch is nearly always in one month, so dates are computed only on a change.
 */
function monthsOf(records: readonly UsageRecord[]): Set<string> {
  const months = new Set<string>();
  let start = 0;
  let end = 0;
  for (const { at } of records) {
    if (at >= start && at < end) continue;
    start = startOfMonth(at);
    end = startOfMonth(at, 1);
    months.add(firstOfMonth(at));
  }
  return months;
}

const firstOfMonth = (at: number, later = 0): string => utcDay(startOfMonth(at, later));

function startOfMonth(at: number, later = 0): number {
  const time = new Date(at);
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + later);
}

const isDuplicate = (error: unknown): boolean => codeOf(error) === '23505';

/** SQLSTATE classes 22 and 23: the fault is in the data, so a retry cannot succeed. */
const isDataFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^2[23]...$/.test(error.code);
