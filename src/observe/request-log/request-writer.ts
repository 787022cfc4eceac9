/**
 * Writes the request log: a copy for a batch, failed attempts, and the growth of its hours, or a mark for `roll-up.ts`
 * where their sums are not known.
 */
import { sql } from 'kysely';
import { codeOf, DAY_MS, entryOf, formatNanos, type Log, type Nanos, RecentMap, utcDay } from '../../core/index.ts';
import { isCount, packUsage, providerCosts, USAGE_COLUMNS } from '../../ledger/index.ts';
import * as database from '../../platform/db/index.ts';
import type { AttemptTrace } from '../../platform/web/index.ts';
import type { RequestRow } from './find-requests.ts';
import { HOUR_COLUMNS, HourSums, hourOf, MAX_MODELS } from './hour-sums.ts';
import { isFault, isOfNobody, type RequestEntry } from './request-entry.ts';

/** Class of the advisory locks of hours, "reqh" in ASCII: shared by writers, exclusive for the roll-up of the hour. */
export const HOUR_LOCK = 0x72657168;
/** The current hour, and earlier ones of calls that took long. */
const KEPT_HOURS = 4;

export type EntryCosts = ReadonlyMap<RequestEntry, Nanos>;
type AttemptCosts = ReadonlyMap<AttemptTrace, Nanos>;

export class RequestWriter {
  readonly #db: database.Db;
  readonly #log: Log;
  readonly #days = new Set<number>();
  readonly #models = new RecentMap<number, Set<string>>({ entries: KEPT_HOURS });

  constructor({ db, log }: { readonly db: database.Db; readonly log: Log }) {
    this.#db = db;
    this.#log = log;
  }

  /** Creates the partitions of this day and the next one ahead of use. */
  async createDays(now: number): Promise<void> {
    const today = Math.floor(now / DAY_MS);
    for (const day of [today, today + 1]) await this.#createDay(day);
  }

  /** Returns the costs of the entries. An entry that is written again has no effect. */
  async write(entries: readonly RequestEntry[]): Promise<EntryCosts> {
    for (const day of new Set(entries.map(({ at }) => Math.floor(at / DAY_MS)))) await this.#createDay(day);
    const costs = await this.#costsOf(entries);
    const spent = await this.#costsInVain(entries);
    const rows = await database.encodeRows(entries, (entry) => rowOf(entry, costs.get(entry), spent));
    const hours = [...new Set(entries.map(hourOf))].sort((a, b) => a - b);
    const insert = (batch: Pick<Batch, 'sums' | 'due'>) =>
      this.#db.transaction().execute((tx) => insertEntries(tx, { entries, rows, hours, ...batch }));
    try {
      await insert(this.#sumsOf(entries, costs))
        // An earlier attempt of unknown outcome has written some of them: those must not count twice.
        .catch((error: unknown) => {
          if (!isDuplicate(error)) throw error;
          return insert({ due: hours });
        });
    } catch (error) {
      // The partition of a day may have been removed since it was last used.
      this.#days.clear();
      throw error;
    }
    return costs;
  }

  /** An hour with very many models is due as a whole. */
  #sumsOf(entries: readonly RequestEntry[], costs: EntryCosts): Pick<Batch, 'sums' | 'due'> {
    const sums = new HourSums();
    const known = entries.filter((entry) => !isOfNobody(entry));
    const models = new Map(known.map((entry) => [entry, storable(entry.model) ?? '']));
    const ofHours = new Map<number, Set<string>>();
    for (const [entry, model] of models)
      entryOf(ofHours, hourOf(entry), () => this.#modelsOf(hourOf(entry))).add(model);
    const due = [...ofHours].filter(([, { size }]) => size > MAX_MODELS).map(([hour]) => hour);
    for (const [entry, model] of models) if (!due.includes(hourOf(entry))) sums.add(entry, costs.get(entry), model);
    return { sums, due };
  }

  #modelsOf(hour: number): Set<string> {
    const models = this.#models.get(hour) ?? new Set();
    this.#models.set(hour, models);
    return models;
  }

  async #costsOf(entries: readonly RequestEntry[]): Promise<EntryCosts> {
    const charged = entries.flatMap((entry) => (entry.charge ? [{ ...entry.charge, entry }] : []));
    const costs = await providerCosts(this.#db, charged, this.#log);
    return new Map([...costs].map(([{ entry }, nanos]) => [entry, nanos]));
  }

  /** Of failed attempts; calls with one are few. */
  async #costsInVain(entries: readonly RequestEntry[]): Promise<AttemptCosts> {
    const attempts = entries.flatMap(({ trace }) => trace.attempts);
    const spent = attempts.flatMap((attempt) => (attempt.spent ? [{ ...attempt.spent, attempt }] : []));
    const costs = await providerCosts(this.#db, spent, this.#log);
    return new Map([...costs].map(([{ attempt }, nanos]) => [attempt, nanos]));
  }

  async #createDay(day: number): Promise<void> {
    if (this.#days.has(day)) return;
    await sql`select request_day(${utcDay(day * DAY_MS)}::date)`.execute(this.#db);
    this.#days.add(day);
  }
}

/** Names that callers choose are stored only in the form of names, and only so many. */
const NAME = /^[\w.[\]$-]{1,64}$/;
const MAX_NAMES = 32;
/** As a literal of an array. */
const namesOf = (names: readonly string[] | undefined): string | undefined =>
  names && names.length > 0
    ? `{${names
        .filter((name) => NAME.test(name))
        .slice(0, MAX_NAMES)
        .map((name) => `"${name}"`)
        .join(',')}}`
    : undefined;

/** Callers choose model names. PostgreSQL cannot store a NUL character. */
const storable = (text: string | undefined): string | undefined => text?.toWellFormed().replaceAll('\0', '');

/** Microseconds are enough, and shorter. */
const round = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.round(ms * 1e3) / 1e3;

const SESSION_BITS = 2 ** 48;

const rowOf = (entry: RequestEntry, cost: Nanos | undefined, spent: AttemptCosts) => {
  const { trace, charge } = entry;
  const [groupPpm, userPpm] = charge?.multipliersPpm ?? [];
  return {
    at: new Date(entry.at).toISOString(),
    id: entry.id,
    user_id: entry.userId,
    key_id: entry.keyId,
    group_id: entry.groupId,
    operation: entry.operation,
    model: storable(entry.model),
    upstream_model: storable(trace.upstreamModel),
    client: trace.client,
    target: trace.target,
    stream: entry.stream,
    status: entry.status,
    outcome: entry.outcome,
    code: entry.code,
    error: entry.error,
    message: storable(entry.message),
    account_id: trace.attempts.at(-1)?.accountId,
    ...attemptsOf(entry, spent),
    dropped: namesOf(trace.dropped),
    changed: namesOf(trace.changed),
    first_byte_ms: round(entry.firstByteMs),
    total_ms: round(entry.totalMs),
    added_ms: round(entry.addedMs),
    failover_ms: round(entry.failoverMs),
    ...NO_USAGE,
    ...usageOf(charge),
    nanos: charge?.nanos,
    cost_nanos: cost,
    price_id: charge?.priceId,
    group_ppm: groupPpm,
    user_ppm: userPpm,
    estimated: charge?.estimated,
    session: trace.session === undefined ? undefined : Math.floor(trace.session * SESSION_BITS),
  } satisfies Partial<Record<keyof database.Rows['requests'], database.CopiedValue>>;
};

type UsageColumns = Record<(typeof USAGE_COLUMNS)[number], database.CopiedValue>;
const NO_USAGE = Object.fromEntries(USAGE_COLUMNS.map((name) => [name, undefined])) as UsageColumns;

/** Counts that cannot be believed are logged too, in JSON: the columns hold numbers of tokens. */
function usageOf(charge: RequestEntry['charge']): Partial<UsageColumns> {
  if (!charge) return {};
  const { usage } = charge;
  const { input, cacheRead, cacheWrite, output } = usage;
  if (![input, cacheRead, cacheWrite, output].every(isCount))
    return { usage: JSON.stringify({ ...usage, tier: storable(usage.tier) }) };
  const packed = packUsage(usage);
  return {
    usage: packed === '{}' ? undefined : packed,
    input_tokens: input,
    cached_input_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    output_tokens: output,
  };
}

/**
 * Most calls have one attempt, and the row has all of it but two times: those take a twentieth of the space of the
 * list.
 */
function attemptsOf({ trace, status }: RequestEntry, spent: AttemptCosts) {
  const { attempts, upstreamModel } = trace;
  const [only] = attempts;
  const none = { attempts: undefined, attempt_start_ms: undefined, attempt_end_ms: undefined };
  if (!only) return none;
  const shown = attempts.slice(0, MAX_NAMES).map((made) => attemptOf(made, spent.get(made)));
  const { start_ms, end_ms, message, usage, ...attempt } = shown[0] ?? attemptOf(only);
  const isPlain =
    attempt.outcome === 'ok' && attempt.status === status && only.model === upstreamModel && only.groupId === undefined;
  const isWhole = message === undefined && usage === undefined && end_ms !== undefined;
  if (attempts.length === 1 && isPlain && isWhole)
    return { ...none, attempt_start_ms: start_ms, attempt_end_ms: end_ms };
  return { ...none, attempts: JSON.stringify(shown) };
}

export function shownAttempts(row: RequestRow): readonly object[] {
  if (row.attempts !== null) return (row.attempts as readonly StoredAttempt[]).map(withMessage);
  if (row.attempt_start_ms === null || row.attempt_end_ms === null) return [];
  return [
    {
      account: row.account_id,
      ...(row.upstream_model !== null && { model: row.upstream_model }),
      outcome: 'ok',
      status: row.status,
      start_ms: row.attempt_start_ms,
      ...(row.first_byte_ms !== null && { first_byte_ms: row.first_byte_ms }),
      end_ms: row.attempt_end_ms,
    },
  ];
}

interface StoredAttempt {
  readonly words?: string;
}
/** Earlier versions named the message `words`. */
const withMessage = ({ words, ...attempt }: StoredAttempt): object =>
  words === undefined ? attempt : { ...attempt, message: words };

/** An attempt as the column `attempts` holds it; `fault` names the kind of a failure. */
const attemptOf = (attempt: AttemptTrace, cost?: Nanos) => ({
  group: attempt.groupId,
  account: attempt.accountId,
  model: storable(attempt.model),
  outcome: attempt.outcome,
  fault: isFault(attempt.outcome) ? attempt.outcome : undefined,
  status: attempt.status,
  start_ms: round(attempt.startMs),
  first_byte_ms: round(attempt.firstByteMs),
  end_ms: round(attempt.lastByteMs === undefined || isFault(attempt.outcome) ? attempt.endMs : attempt.lastByteMs),
  message: storable(attempt.message),
  request_id: attempt.providerRequestId,
  usage: attempt.spent && { ...attempt.spent.usage, tier: storable(attempt.spent.usage.tier) },
  cost: cost === undefined ? undefined : formatNanos(cost),
});

interface Batch {
  readonly entries: readonly RequestEntry[];
  readonly rows: database.EncodedRows<RequestEntry>;
  readonly hours: readonly number[];
  /** What the roll-ups grow by. Without it, entries that exist already are left out, and the roll-ups stay. */
  readonly sums?: HourSums | undefined;
  readonly due: readonly number[];
}

async function insertEntries(tx: database.Tx, { entries, rows, hours, sums, due }: Batch): Promise<void> {
  const fresh = sums ? entries : await withoutKnown(tx, entries);
  const faults = fresh.flatMap(faultsOf);
  const grown = [faults, sums?.hours ?? [], sums?.faults ?? []].map((rows) => JSON.stringify(rows));
  await growHours(tx, [hours, ...grown, due]);
  await database.copyEncoded(tx, 'requests', fresh, rows);
}

async function withoutKnown(tx: database.Tx, entries: readonly RequestEntry[]): Promise<RequestEntry[]> {
  const times = entries.map(({ at }) => at);
  const { rows } = await sql<{ id: string }>`
    select id from requests where at between ${new Date(Math.min(...times))} and ${new Date(Math.max(...times))}
      and id = any(${entries.map(({ id }) => id)})`.execute(tx);
  const known = new Set(rows.map(({ id }) => id));
  return entries.filter(({ id }) => !known.has(id) && known.add(id));
}

const faultsOf = ({ at, id, groupId, model, trace }: RequestEntry): object[] =>
  trace.attempts.slice(0, MAX_NAMES).flatMap((made, n) => {
    const { fault, group = groupId, account, status, message, request_id } = attemptOf(made);
    if (fault === undefined) return [];
    const call = { at, request_id: id, attempt: n + 1, group_id: group, account_id: account, model: storable(model) };
    return { ...call, kind: fault, status, words: message, provider_request_id: request_id };
  });

const COLUMNS = HOUR_COLUMNS.join(', ');

/**
 * Stores failed attempts, grows the roll-ups, marks hours that are due. The locks come first, so that no roll-up misses
 * rows.
 */
const growHours = database.prepare(
  'request_hours',
  `with locked as materialized (
    select count(pg_advisory_xact_lock_shared(${HOUR_LOCK}, hour)) as n from unnest($1::int[]) hour),
  faults as (
    insert into request_faults (at, request_id, attempt, group_id, account_id, model, kind, status, words, provider_request_id)
    select to_timestamp(f.at / 1000.0), f.request_id, f.attempt, f.group_id, f.account_id, f.model, f.kind, f.status, f.words,
      f.provider_request_id
    from locked, json_to_recordset($2::json) as f (
      at numeric, request_id text, attempt smallint, group_id text, account_id text, model text, kind text, status smallint,
      words text, provider_request_id text)
    where locked.n >= 0 order by 1, 2, 3
    on conflict do nothing),
  grown as (
    insert into request_hours as h (level, hour, group_id, account_id, model, ${COLUMNS})
    select s.level, to_timestamp(s.hour * 3600::float8), s.group_id, s.account_id, s.model, ${COLUMNS}
    from locked, jsonb_to_recordset($3::jsonb) as s (
      level text, hour int, group_id text, account_id text, model text, ${HOUR_COLUMNS.map((name) => `${name} numeric`).join(', ')})
    where locked.n >= 0 order by 1, 2, 3, 4, 5
    on conflict (level, hour, group_id, account_id, model) do update set
      ${HOUR_COLUMNS.map((name) => `${name} = h.${name} + excluded.${name}`).join(', ')}),
  grown_faults as (
    insert into request_fault_hours as h (hour, group_id, account_id, model, kind, attempts)
    select to_timestamp(s.hour * 3600::float8), s.group_id, s.account_id, s.model, s.kind, s.attempts
    from locked, jsonb_to_recordset($4::jsonb) as s (
      hour int, group_id text, account_id text, model text, kind text, attempts bigint)
    where locked.n >= 0 order by 1, 2, 3, 4, 5
    on conflict (hour, group_id, account_id, model, kind) do update set attempts = h.attempts + excluded.attempts),
  due as (select to_timestamp(hour * 3600::float8) as hour from unnest($5::int[]) hour, locked where locked.n >= 0 order by 1)
  insert into request_hours_due select hour from due on conflict do nothing`,
);

const isDuplicate = (error: unknown): boolean => codeOf(error) === '23505';
