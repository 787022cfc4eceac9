/**
 * Writes usage records to the database: usage rows, daily roll-ups and one charge per wallet, in one transaction.
 * Idempotent by record id, so any part of a journal may be written again. Invalid records are quarantined and never charged.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql, type Transaction } from 'kysely';
import { errorFields, type Log } from '../../core/index.ts';
import type { Db, Rows } from '../../db/index.ts';
import { crashPoint } from '../crash-points.ts';
import { type ProviderCosts, providerCosts } from '../pricing/provider-cost.ts';
import { DAILY_SUMS, encodeRecord, type UsageRecord } from '../usage-record.ts';

type Tx = Transaction<Rows>;

/** What a replica has leased of a wallet, at a version of the lease. */
export interface LeaseState {
  readonly replicaId: string;
  readonly userId: string;
  readonly nanos: bigint;
  readonly version: bigint;
}

export class UsageWriter {
  readonly #db: Db;
  readonly #log: Log;
  readonly #months = new Set<string>();

  constructor({ db, log }: { db: Db; log: Log }) {
    this.#db = db;
    this.#log = log;
  }

  /**
   * Records and charges the records that are new. Charges draw on the leases of `replicaId` first; returns those leases. Throws when the
   * database cannot be used.
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
    // Before the transaction, so that it holds its locks no longer than needed.
    const rows = await encodeRows(records, costs);
    const write = (isRepeated: boolean) =>
      this.#db.transaction().execute((tx) => recordAndCharge(tx, { replicaId, records, rows, isRepeated }));
    // Only a batch that is written again has records that exist, and looking for them costs every row.
    const { leases, unknownUsers } = await write(false).catch((error: unknown) => {
      if (!isDuplicate(error)) throw error;
      return write(true);
    });
    crashPoint('flush.committed');
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
      .values({ id: record.id, fault: storable(fault), raw: encodeRecord(record) })
      .onConflict((c) => c.doNothing())
      .execute();
  }
}

/**
 * Records without charging, for work that a hold pays for; call it in the transaction that settles the hold. The caller passes the
 * provider's costs if it knows them. Not for records of a journal: those are charged when they are written.
 */
export async function recordUsage(
  tx: Tx,
  records: readonly UsageRecord[],
  costs: ProviderCosts = new Map(),
): Promise<void> {
  for (const first of monthsOf(records)) await sql`select usage_month(${first}::date)`.execute(tx);
  await reopenDays(tx, records);
  await sql`with ${inserted(records, await encodeRows(records, costs))}, ${DAILY} select 1`.execute(tx);
}

interface Batch {
  readonly replicaId: string;
  readonly records: readonly UsageRecord[];
  readonly rows: RowTexts;
  /** Some of the records may exist already. */
  readonly isRepeated: boolean;
}

/**
 * The wallets are locked last, for as long as the charges of the whole batch and the commit take: calls that need a further lease wait for
 * this lock, and a thousand rows take many times as long.
 */
async function recordAndCharge(tx: Tx, { replicaId, records, rows, isRepeated }: Batch) {
  const users = [...new Set(records.map(({ userId }) => userId))];
  const { rows: wallets } = await sql<{ user_id: string }>`
    select user_id from wallets where user_id = any(${users})`.execute(tx);
  const known = new Set(wallets.map(({ user_id }) => user_id));
  const owned = records.filter(({ userId }) => known.has(userId));
  const insert = () => insertRecords(tx, inserted(owned, rows, isRepeated));
  const leases = owned.length > 0 ? await chargeUsage(tx, replicaId, owned, await insert()) : [];
  crashPoint('flush.recorded');
  return { leases, unknownUsers: records.filter(({ userId }) => !known.has(userId)) };
}

/** Returns the sums of the records that are new, as JSON. */
async function insertRecords(tx: Tx, statement: RawBuilder<unknown>): Promise<string> {
  const { rows } = await sql<{ sums: string }>`
    with ${statement} select coalesce(jsonb_agg(s), '[]')::text as sums from sums s`.execute(tx);
  return rows[0]?.sums ?? '[]';
}

/** Charges one entry per wallet. The part that the lease does not cover is charged too, as a separate `overdraft` entry. */
async function chargeUsage(
  tx: Tx,
  replicaId: string,
  records: readonly UsageRecord[],
  sums: string,
): Promise<LeaseState[]> {
  const users = [...new Set(records.map(({ userId }) => userId))];
  // Locked in the order of ids, so that replicas that charge the same users do not deadlock.
  const { rows: locked } = await sql`
    select user_id from wallets where user_id = any(${users}) order by user_id for no key update`.execute(tx);
  // The next attempt finds that the user is not known.
  if (locked.length < users.length) throw new Error('a user was removed while usage was recorded');
  await reopenDays(tx, records);
  const { rows } = await sql<LeaseState>`
    with sums as (select * from jsonb_to_recordset(${sums}::jsonb) as s (${SUM_COLUMNS})),
    ${DAILY},
    spent as (
      select user_id, sum(nanos)::bigint as nanos, min(first) as first, sum(charged)::bigint as calls
      from sums where nanos > 0 group by user_id),
    covered as (
      select s.*, least(coalesce(l.nanos, 0), s.nanos) as drawn
      from spent s left join leases l on l.user_id = s.user_id and l.replica_id = ${replicaId}),
    drawn as (
      update leases l set nanos = l.nanos - c.drawn, version = l.version + 1 from covered c
      where l.user_id = c.user_id and l.replica_id = ${replicaId} returning l.user_id, l.nanos, l.version),
    charged as (
      update wallets w set debits = w.debits + c.nanos, held = w.held - c.drawn from covered c where w.user_id = c.user_id),
    entry as (
      insert into entries (debit, credit, nanos, kind, reference, reason)
      select c.user_id, '@revenue', part.nanos, part.kind, part.kind || ':' || c.first, c.calls || ' calls'
      from covered c, lateral (values ('usage', c.drawn), ('overdraft', c.nanos - c.drawn)) part (kind, nanos)
      where part.nanos > 0 order by c.user_id)
    select l.replica_id as "replicaId", l.user_id as "userId", coalesce(d.nanos, l.nanos) as nanos, coalesce(d.version, l.version) as version
    from leases l left join drawn d using (user_id)
    where l.replica_id = ${replicaId} and l.user_id = any(${users})`.execute(tx);
  return rows;
}

/** Days that were summed for reports are summed again with the new records. */
async function reopenDays(tx: Tx, records: readonly UsageRecord[]): Promise<void> {
  const days = [...new Set(records.map(({ at }) => Math.floor(at / DAY_MS)))].sort((a, b) => a - b);
  await sql`select reopen_usage_days(${days.map((day) => new Date(day * DAY_MS).toISOString().slice(0, 10))}::date[])`.execute(
    tx,
  );
}

const DAY_MS = 86_400_000;

const count = (name: string): RawBuilder<unknown> => sql`coalesce((usage ->> ${sql.lit(name)})::bigint, 0)`;

/**
 * `inserted` are the records that are neither recorded nor quarantined yet: an operator decides on quarantined ones. `sums` are what the
 * roll-ups and charges grow by.
 */
function inserted(records: readonly UsageRecord[], rows: RowTexts, isRepeated = true): RawBuilder<unknown> {
  return sql`
    incoming as (
      select id, to_timestamp((at / 1000)::float8), user_id, key_id, group_id, account_id, model, operation, request_id,
        ${count('input')}, ${count('cacheRead')}, ${count('cacheWrite')}, ${count('output')}, ${count('reasoning')},
        images, usage, nanos, price_id, estimated, cost_nanos
      from json_to_recordset(${`[${records.map((record) => rows.get(record)).join(',')}]`}::json) as r (
        id text, at numeric, user_id text, key_id text, group_id text, account_id text, model text, operation text,
        request_id text, images integer, usage jsonb, nanos bigint, price_id bigint, estimated boolean, cost_nanos bigint)),
    inserted as (
      insert into usage_records (
        id, at, user_id, key_id, group_id, account_id, model, operation, request_id, input_tokens, cached_input_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, images, usage, nanos, price_id, estimated, cost_nanos)
      select * from incoming i where not exists (select from usage_quarantine q where q.id = i.id) order by 2, 1
      ${isRepeated ? sql`on conflict do nothing` : sql``}
      returning *),
    sums as (
      select user_id, (at at time zone 'UTC')::date as day, key_id, group_id, model, account_id, operation, count(*) as requests,
        sum(input_tokens) as input_tokens, sum(cached_input_tokens) as cached_input_tokens,
        sum(cache_write_tokens) as cache_write_tokens, sum(output_tokens) as output_tokens,
        sum(reasoning_tokens) as reasoning_tokens, sum(${count('inputAudio')} + ${count('outputAudio')}) as audio_tokens,
        sum(${count('inputImage')} + ${count('outputImage')}) as image_tokens, sum(${count('searches')}) as searches,
        sum(images) as images, sum(nanos) as nanos, count(*) filter (where estimated) as estimated,
        coalesce(sum(cost_nanos), 0) as cost_nanos, count(*) filter (where cost_nanos is null) as cost_unknown,
        min(id) filter (where nanos > 0) as first, count(*) filter (where nanos > 0) as charged
      from inserted group by 1, 2, 3, 4, 5, 6, 7)`;
}

const DAILY_NAMES = ['user_id', 'day', 'key_id', 'group_id', 'model', 'account_id', 'operation'] as const;

/** The columns of `sums`. */
const SUM_COLUMNS = sql.raw(
  [
    ...DAILY_NAMES.map((name) => `${name} ${name === 'day' ? 'date' : 'text'}`),
    ...[...DAILY_SUMS, 'charged'].map((name) => `${name} bigint`),
    'first text',
  ].join(', '),
);

/** The roll-ups by day grow by `sums`. */
const DAILY = sql`
  daily as (
    insert into usage_daily as d (${sql.raw([...DAILY_NAMES, ...DAILY_SUMS].join(', '))})
    select ${sql.raw([...DAILY_NAMES, ...DAILY_SUMS].join(', '))} from sums order by ${sql.raw(DAILY_NAMES.join(', '))}
    on conflict (${sql.raw(DAILY_NAMES.join(', '))}) do update set ${sql.join(
      DAILY_SUMS.map((name) => sql`${sql.ref(name)} = d.${sql.ref(name)} + excluded.${sql.ref(name)}`),
    )})`;

/** Record -> its row as JSON. */
type RowTexts = ReadonlyMap<UsageRecord, string>;

/** Rows that are encoded in one turn of the event loop, a fraction of a millisecond. */
const SLICE_ROWS = 50;

async function encodeRows(records: readonly UsageRecord[], costs: ProviderCosts): Promise<RowTexts> {
  const rows = new Map<UsageRecord, string>();
  for (const record of records) {
    if (rows.size > 0 && rows.size % SLICE_ROWS === 0) await nextTurn();
    rows.set(record, JSON.stringify(rowOf(record, costs)));
  }
  return rows;
}

const rowOf = (record: UsageRecord, costs: ProviderCosts) => ({
  id: record.id,
  at: record.at,
  user_id: record.userId,
  key_id: record.keyId,
  group_id: record.groupId,
  account_id: record.accountId,
  model: storable(record.model),
  operation: record.operation,
  request_id: storable(record.requestId),
  images: record.images,
  usage: record.usage.tier === undefined ? record.usage : { ...record.usage, tier: storable(record.usage.tier) },
  nanos: String(record.nanos),
  price_id: record.priceId === null ? null : String(record.priceId),
  estimated: record.estimated,
  cost_nanos: costs.get(record)?.toString() ?? null,
});

/** Callers and upstreams choose these texts. One that PostgreSQL cannot store must not make a call free of charge. */
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '');

/** The first days of the months of the records. A batch is nearly always in one month, so dates are computed only on a change. */
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

const firstOfMonth = (at: number, later = 0): string => new Date(startOfMonth(at, later)).toISOString().slice(0, 10);

function startOfMonth(at: number, later = 0): number {
  const time = new Date(at);
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + later);
}

const isDuplicate = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '23505';

/** SQLSTATE classes 22 and 23: the fault is in the data, so a retry cannot succeed. */
const isDataFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^2[23]...$/.test(error.code);
