/**
 * From the journal to the database: usage rows, roll-ups and one charge per wallet, all in one transaction. A record that is
 * there already changes nothing, so any part of a journal may be read again at any time.
 */
import { type RawBuilder, sql, type Transaction } from 'kysely';
import { type Clock, errorFields, type Log } from '../../core/index.ts';
import type { Db, Rows } from '../../db/index.ts';
import { cleared, raised } from '../alarms.ts';
import type { OnStep } from '../crash-points.ts';
import { type Costs, upstreamCosts } from '../pricing/provider-cost.ts';
import { DAILY_SUMS, encodeRecord, invalidUsage, type UsageRecord } from '../usage-record.ts';
import type { Journal } from './journal.ts';

type Tx = Transaction<Rows>;

/** What a replica has leased of a wallet, as of its version. */
export interface LeaseState {
  readonly replicaId: string;
  readonly userId: string;
  readonly nanos: bigint;
  readonly version: bigint;
}

export class UsageWriter {
  readonly #db: Db;
  readonly #log: Log;
  readonly #onStep: OnStep | undefined;
  readonly #months = new Set<string>();

  constructor({ db, log, onStep }: { db: Db; log: Log; onStep?: OnStep | undefined }) {
    this.#db = db;
    this.#log = log;
    this.#onStep = onStep;
  }

  /** Records and charges what is new; charges draw on the leases of `replicaId` first. Throws when the database cannot be used. */
  async write(replicaId: string, records: readonly UsageRecord[]): Promise<LeaseState[]> {
    const sound = records.filter((record) => invalidUsage(record) === undefined);
    const leases = await this.#try(replicaId, sound);
    if (sound.length === records.length) return leases;
    for (const record of records) {
      const fault = invalidUsage(record);
      if (fault) await this.#quarantine(record, fault);
    }
    return leases;
  }

  /** Makes the month of that time, and the next one, before anybody needs it. */
  async prepare(now: number): Promise<void> {
    await this.#month(firstOfMonth(now));
    await this.#month(firstOfMonth(now, 1));
  }

  async #try(replicaId: string, records: readonly UsageRecord[], isSecond = false): Promise<LeaseState[]> {
    if (records.length === 0) return [];
    try {
      for (const first of monthsOf(records)) await this.#month(first);
      this.#onStep?.('flush.begun');
      const costs = await upstreamCosts(this.#db, records, this.#log);
      const { leases, strangers } = await this.#db
        .transaction()
        .execute((tx) => this.#record(tx, replicaId, records, costs));
      this.#onStep?.('flush.committed');
      for (const record of strangers) await this.#quarantine(record, 'its user is not known');
      return leases;
    } catch (error) {
      if (!isDataFault(error)) throw error;
      // A month may have been removed behind our back.
      this.#months.clear();
      if (!isSecond) return this.#try(replicaId, records, true);
      // One record that cannot be stored must not hold up the rest.
      const [first] = records;
      if (records.length === 1 && first) {
        await this.#quarantine(first, errorFields(error).detail);
        return [];
      }
      const middle = Math.ceil(records.length / 2);
      return [
        ...(await this.#try(replicaId, records.slice(0, middle), true)),
        ...(await this.#try(replicaId, records.slice(middle), true)),
      ];
    }
  }

  async #record(tx: Tx, replicaId: string, records: readonly UsageRecord[], costs: Costs) {
    const users = [...new Set(records.map(({ userId }) => userId))];
    // In order, so that two replicas that record for the same users follow one another instead of waiting in a circle.
    const { rows: wallets } = await sql<{ user_id: string }>`
      select user_id from wallets where user_id = any(${users}) order by user_id for no key update`.execute(tx);
    const known = new Set(wallets.map(({ user_id }) => user_id));
    const leases = await chargeUsage(
      tx,
      replicaId,
      records.filter(({ userId }) => known.has(userId)),
      costs,
    );
    this.#onStep?.('flush.recorded');
    return { leases, strangers: records.filter(({ userId }) => !known.has(userId)) };
  }

  async #month(first: string): Promise<void> {
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
 * Records without charging, for work that a hold has paid for; in the transaction that settles it. What it cost the operator is
 * known to whoever settles it, if to anybody.
 * Not for records that a journal holds: those are charged when they are recorded.
 */
export async function recordUsage(tx: Tx, records: readonly UsageRecord[], costs: Costs = new Map()): Promise<void> {
  for (const first of monthsOf(records)) await sql`select usage_month(${first}::date)`.execute(tx);
  await sql`with ${recorded(records, costs)} select 1`.execute(tx);
}

/** What the leases do not cover is charged all the same, as an entry of its own that says so. */
async function chargeUsage(
  tx: Tx,
  replicaId: string,
  records: readonly UsageRecord[],
  costs: Costs,
): Promise<LeaseState[]> {
  if (records.length === 0) return [];
  const { rows } = await sql<LeaseState>`
    with ${recorded(records, costs)},
    spent as (
      select f.user_id, sum(f.nanos)::bigint as nanos, min(f.id) as first, count(*) as calls
      from fresh f where f.nanos > 0 group by f.user_id),
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
    where l.replica_id = ${replicaId} and l.user_id = any(${records.map(({ userId }) => userId)})`.execute(tx);
  return rows;
}

/** `fresh`: what was not there before, nor set aside for an operator, who decides; the roll-ups grow by exactly that. */
function recorded(records: readonly UsageRecord[], costs: Costs): RawBuilder<unknown> {
  return sql`
    incoming as (
      select id, to_timestamp((at / 1000)::float8), user_id, key_id, group_id, account_id, model, operation, request_id,
        ${count('input')}, ${count('cacheRead')}, ${count('cacheWrite')}, ${count('output')}, ${count('reasoning')},
        images, usage, nanos, price_id, estimated, cost_nanos
      from jsonb_to_recordset(${JSON.stringify(records.map((record) => rowOf(record, costs)))}::jsonb) as r (
        id text, at numeric, user_id text, key_id text, group_id text, account_id text, model text, operation text,
        request_id text, images integer, usage jsonb, nanos bigint, price_id bigint, estimated boolean, cost_nanos bigint)),
    fresh as (
      insert into usage_records (
        id, at, user_id, key_id, group_id, account_id, model, operation, request_id, input_tokens, cached_input_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, images, usage, nanos, price_id, estimated, cost_nanos)
      select * from incoming i where not exists (select from usage_quarantine q where q.id = i.id) order by 2, 1
      on conflict do nothing
      returning *),
    daily as (
      insert into usage_daily as d (
        user_id, day, key_id, group_id, model, account_id, operation, requests, input_tokens, cached_input_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, audio_tokens, image_tokens, searches, images, nanos, estimated,
        cost_nanos, cost_unknown)
      select user_id, (at at time zone 'UTC')::date, key_id, group_id, model, account_id, operation, count(*),
        sum(input_tokens), sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens),
        sum(${count('inputAudio')} + ${count('outputAudio')}), sum(${count('inputImage')} + ${count('outputImage')}),
        sum(${count('searches')}), sum(images), sum(nanos), count(*) filter (where estimated),
        coalesce(sum(cost_nanos), 0), count(*) filter (where cost_nanos is null)
      from fresh group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7
      on conflict (user_id, day, key_id, group_id, model, account_id, operation) do update set ${grow}
    )`;
}

const count = (name: string): RawBuilder<unknown> => sql`coalesce((usage ->> ${sql.lit(name)})::bigint, 0)`;

const grow = sql.join(DAILY_SUMS.map((name) => sql`${sql.ref(name)} = d.${sql.ref(name)} + excluded.${sql.ref(name)}`));

const rowOf = (record: UsageRecord, costs: Costs) => ({
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

/** Callers and upstreams choose these: what PostgreSQL cannot store must not make a call free of charge. */
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '');

/** The first days of the months that they fall into. Nearly always all of a batch fall into one: dates are made for each change only. */
function monthsOf(records: readonly UsageRecord[]): Set<string> {
  const months = new Set<string>();
  let begin = 0;
  let end = 0;
  for (const { at } of records) {
    if (at >= begin && at < end) continue;
    begin = startOfMonth(at);
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

/** Classes 22 and 23: the data, not the database. */
const isDataFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^2[23]...$/.test(error.code);

export interface FlusherOptions {
  readonly store: UsageWriter;
  readonly journal: Journal;
  readonly replica: { readonly id: string };
  readonly clock: Clock;
  readonly log: Log;
  /** These are in the database, and this is what is leased now. */
  readonly onMoved: (records: readonly UsageRecord[], leases: readonly LeaseState[]) => void;
}

/** One statement's worth: large enough that its cost is shared, small enough that its locks are short. */
const BATCH_ROWS = 1_000;
const BATCH_MS = 200;
const MAX_BACKOFF_MS = 10_000;
/** One or two are a restart of the database. */
const FAILURES_TO_TELL = 3;

/** Moves the journal of this process along, one batch at a time. */
export class Flusher {
  readonly #options: FlusherOptions;
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  /** Batches follow one another, whoever asks for them: two at once would count the same records as moved twice. */
  #lane: Promise<void> = Promise.resolve();
  #failures = 0;
  #isStopped = false;

  constructor(options: FlusherOptions) {
    this.#options = options;
    options.journal.onPending((pending) => {
      if (pending >= BATCH_ROWS && this.#failures === 0) this.#start();
      else this.#arm(BATCH_MS);
    });
  }

  /** How often in a row the database has taken nothing. */
  get failures(): number {
    return this.#failures;
  }

  /** Moves what is there now; throws when the database cannot be used, and everything stays where it is. */
  async drain(): Promise<void> {
    do await this.#batch();
    while (this.#options.journal.pending > 0);
  }

  /** Runs the task between two batches: while it runs, every record is either in the database or in the journal. */
  between(task: () => Promise<void>): Promise<void> {
    return this.#inLane(task);
  }

  /** Whatever is left stays in the journal. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#running;
  }

  #arm(ms: number): void {
    if (this.#cancel || this.#running || this.#isStopped) return;
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#cancel = undefined;
      this.#start();
    });
  }

  #start(): void {
    if (this.#running || this.#isStopped) return;
    this.#cancel?.();
    this.#cancel = undefined;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#options.journal.pending > 0) this.#arm(this.#wait());
    });
  }

  async #run(): Promise<void> {
    const { journal, log } = this.#options;
    try {
      do await this.#batch();
      while (journal.pending >= BATCH_ROWS && !this.#isStopped);
      if (this.#failures >= FAILURES_TO_TELL) cleared(log, 'flusher_failing');
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      const fault = errorFields(error);
      log.error('usage.flush_failed', { pending: journal.pending, ...fault });
      if (this.#failures === FAILURES_TO_TELL)
        raised(log, { name: 'flusher_failing', count: this.#failures, detail: fault.fault });
    }
  }

  #batch(): Promise<void> {
    return this.#inLane(() => this.#move());
  }

  #inLane(task: () => Promise<void>): Promise<void> {
    const turn = this.#lane.then(task);
    this.#lane = turn.catch(() => {});
    return turn;
  }

  async #move(): Promise<void> {
    const { journal, store, replica, onMoved } = this.#options;
    const records = journal.peek(BATCH_ROWS);
    if (records.length === 0) return;
    const leases = await store.write(replica.id, records);
    journal.moved(records.length);
    onMoved(records, leases);
  }

  #wait(): number {
    return this.#failures === 0 ? BATCH_MS : Math.min(MAX_BACKOFF_MS, BATCH_MS * 2 ** this.#failures);
  }
}
