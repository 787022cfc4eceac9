/**
 * Writes the request log to the database: one statement for a batch, which also stores failed attempts and grows the roll-ups of its hours.
 * Hours whose sums are not known are marked instead, and rolled up from their rows (`roll-up.ts`).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import type { Log, Nanos } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import { providerCosts } from '../ledger/index.ts';
import type { AttemptTrace } from '../web/index.ts';
import type { RequestRow } from './find-requests.ts';
import { HOUR_COLUMNS, HourSums, hourOf, MAX_MODELS } from './hour-sums.ts';
import { isFault, type RequestEntry } from './request-entry.ts';

/** Class of the advisory locks of hours, "reqh" in ASCII: shared by writers, exclusive for the roll-up of the hour. */
export const HOUR_LOCK = 0x72657168;
const DAY_MS = 86_400_000;

/** Entry -> what the call cost the operator. */
export type EntryCosts = ReadonlyMap<RequestEntry, Nanos>;

export class RequestWriter {
  readonly #db: Db;
  readonly #log: Log;
  readonly #days = new Set<number>();
  /** The models of each hour that this process has written calls of. */
  readonly #models = new Map<number, Set<string>>();

  constructor({ db, log }: { readonly db: Db; readonly log: Log }) {
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
    const rows = `[${(await encodeRows(entries, costs)).join(',')}]`;
    const hours = [...new Set(entries.map(hourOf))].sort((a, b) => a - b);
    try {
      await insertStatement({ rows, hours, ...this.#sumsOf(entries, costs) })
        .execute(this.#db)
        // An earlier attempt of unknown outcome has written some of them: those must not count twice.
        .catch((error: unknown) => {
          if (!isDuplicate(error)) throw error;
          return insertStatement({ rows, hours, due: hours }).execute(this.#db);
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
    const models = new Map(entries.map((entry) => [entry, storable(entry.model) ?? '']));
    for (const [entry, model] of models) this.#modelsOf(hourOf(entry)).add(model);
    const due = new Set<number>();
    for (const [entry, model] of models)
      if (this.#modelsOf(hourOf(entry)).size > MAX_MODELS) due.add(hourOf(entry));
      else sums.add(entry, costs.get(entry), model);
    return { sums, due: [...due] };
  }

  #modelsOf(hour: number): Set<string> {
    const models = this.#models.get(hour) ?? new Set();
    this.#models.set(hour, models);
    const [oldest] = this.#models.keys();
    if (this.#models.size > KEPT_HOURS && oldest !== undefined && oldest !== hour) this.#models.delete(oldest);
    return models;
  }

  async #costsOf(entries: readonly RequestEntry[]): Promise<EntryCosts> {
    const charged = entries.flatMap((entry) => (entry.charge ? [{ ...entry.charge, entry }] : []));
    const costs = await providerCosts(this.#db, charged, this.#log);
    return new Map([...costs].map(([{ entry }, nanos]) => [entry, nanos]));
  }

  async #createDay(day: number): Promise<void> {
    if (this.#days.has(day)) return;
    await sql`select request_day(${new Date(day * DAY_MS).toISOString().slice(0, 10)}::date)`.execute(this.#db);
    this.#days.add(day);
  }
}

/** Rows that are encoded in one turn of the event loop, a fraction of a millisecond. */
const SLICE_ROWS = 50;

async function encodeRows(entries: readonly RequestEntry[], costs: EntryCosts): Promise<string[]> {
  const rows: string[] = [];
  for (const entry of entries) {
    if (rows.length > 0 && rows.length % SLICE_ROWS === 0) await nextTurn();
    rows.push(JSON.stringify(rowOf(entry, costs.get(entry))));
  }
  return rows;
}

/** Names that callers choose are stored only in the form of names, and only so many. */
const NAME = /^[\w.[\]$-]{1,64}$/;
const MAX_NAMES = 32;
const namesOf = (names: readonly string[] | undefined): readonly string[] | undefined =>
  names && names.length > 0 ? names.filter((name) => NAME.test(name)).slice(0, MAX_NAMES) : undefined;

/** Callers choose model names. PostgreSQL cannot store a NUL character. */
const storable = (text: string | undefined): string | undefined => text?.toWellFormed().replaceAll('\0', '');

/** Microseconds are enough, and shorter. */
const round = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.round(ms * 1e3) / 1e3;

const SESSION_BITS = 2 ** 48;

const rowOf = (entry: RequestEntry, cost: Nanos | undefined) => {
  const { trace, charge } = entry;
  const [groupPpm, userPpm] = charge?.multipliersPpm ?? [];
  return {
    at: entry.at,
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
    account_id: trace.attempts.at(-1)?.accountId,
    ...attemptsOf(entry),
    dropped: namesOf(trace.dropped),
    changed: namesOf(trace.changed),
    first_byte_ms: round(entry.firstByteMs),
    total_ms: round(entry.totalMs),
    added_ms: round(entry.addedMs),
    failover_ms: round(entry.failoverMs),
    usage: charge && { ...charge.usage, tier: storable(charge.usage.tier) },
    nanos: charge?.nanos.toString(),
    cost_nanos: cost?.toString(),
    price_id: charge?.priceId?.toString(),
    group_ppm: groupPpm?.toString(),
    user_ppm: userPpm?.toString(),
    estimated: charge?.estimated,
    session: trace.session === undefined ? undefined : Math.floor(trace.session * SESSION_BITS),
  };
};

/** Most calls have one attempt, and the row has all of it but two times: those take a twentieth of the space of the list. */
function attemptsOf({ trace: { attempts, upstreamModel }, status }: RequestEntry): object {
  const [only] = attempts;
  if (!only) return {};
  const { start_ms, end_ms, words, ...attempt } = attemptOf(only);
  const isPlain = attempt.outcome === 'ok' && attempt.status === status && only.model === upstreamModel;
  if (attempts.length === 1 && isPlain && words === undefined && end_ms !== undefined)
    return { attempt_start_ms: start_ms, attempt_end_ms: end_ms };
  return { attempts: attempts.slice(0, MAX_NAMES).map(attemptOf) };
}

/** The attempts of a call, as `attemptsOf` has stored them. */
export function shownAttempts(row: RequestRow): readonly object[] {
  if (row.attempts !== null) return row.attempts as readonly object[];
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

/** An attempt as the column `attempts` holds it; `fault` names the kind of a failure. */
const attemptOf = (attempt: AttemptTrace) => ({
  account: attempt.accountId,
  model: storable(attempt.model),
  outcome: attempt.outcome,
  fault: isFault(attempt.outcome) ? attempt.outcome : undefined,
  status: attempt.status,
  start_ms: round(attempt.startMs),
  first_byte_ms: round(attempt.firstByteMs),
  end_ms: round(attempt.lastByteMs === undefined || isFault(attempt.outcome) ? attempt.endMs : attempt.lastByteMs),
  words: storable(attempt.words),
});

interface Batch {
  /** As JSON. */
  readonly rows: string;
  readonly hours: readonly number[];
  /** What the roll-ups grow by. Without it, rows that exist already are left out, and the roll-ups stay. */
  readonly sums?: HourSums;
  /** Hours that are to be rolled up from their rows. */
  readonly due: readonly number[];
}

/** The locks come first, so that the roll-up of an hour never misses rows that are on their way. */
const insertStatement = ({ rows, hours, sums, due }: Batch): RawBuilder<unknown> => sql`
  with locked as materialized (
    select count(pg_advisory_xact_lock_shared(${HOUR_LOCK}::int, hour)) as n from unnest(${hours}::int[]) hour),
  incoming as (
    select to_timestamp(r.at / 1000.0) as at, r.id, r.user_id, r.key_id, r.group_id, r.operation, r.model, r.upstream_model, r.client,
      r.target, r.stream, r.status, r.outcome, r.code, r.error, r.account_id, r.attempts, r.dropped, r.changed, r.first_byte_ms,
      r.total_ms, r.added_ms, r.failover_ms, r.usage, r.nanos, r.cost_nanos, r.price_id, r.group_ppm, r.user_ppm, r.estimated, r.session,
      r.attempt_start_ms, r.attempt_end_ms
    from locked, json_to_recordset(${rows}::json) as r (
      at numeric, id text, user_id text, key_id text, group_id text, operation text, model text, upstream_model text, client text,
      target text, stream boolean, status smallint, outcome text, code text, error text, account_id text, attempts jsonb,
      dropped text[], changed text[], first_byte_ms real, total_ms real, added_ms real, failover_ms real, usage jsonb, nanos bigint,
      cost_nanos bigint, price_id bigint, group_ppm bigint, user_ppm bigint, estimated boolean, session bigint,
      attempt_start_ms real, attempt_end_ms real)
    where locked.n >= 0),
  inserted as (
    insert into requests select * from incoming order by at, id ${sums ? sql`` : sql`on conflict do nothing`}
    returning at, id, group_id, model, attempts),
  faults as (
    insert into request_faults (at, request_id, attempt, group_id, account_id, model, kind, status, words)
    select i.at, i.id, a.n, i.group_id, a.attempt ->> 'account', i.model, a.attempt ->> 'fault', (a.attempt ->> 'status')::smallint,
      a.attempt ->> 'words'
    from inserted i cross join jsonb_array_elements(i.attempts) with ordinality a (attempt, n)
    where i.attempts is not null and a.attempt ? 'fault'
    on conflict do nothing),
  ${sums ? grownHours(sums) : sql``}
  due as (select to_timestamp(hour * 3600::float8) as hour from unnest(${due}::int[]) hour order by 1)
  insert into request_hours_due select hour from due on conflict do nothing`;

/** After the rows of the batch are locked in, so that no roll-up of these hours from their rows is running. */
const grownHours = (sums: HourSums): RawBuilder<unknown> => sql`
  grown as (
    insert into request_hours as h (level, hour, group_id, account_id, model, ${COLUMNS})
    select s.level, to_timestamp(s.hour * 3600::float8), s.group_id, s.account_id, s.model, ${COLUMNS}
    from locked, jsonb_to_recordset(${JSON.stringify(sums.hours)}::jsonb) as s (
      level text, hour int, group_id text, account_id text, model text, ${COLUMN_TYPES})
    where locked.n >= 0 order by 1, 2, 3, 4, 5
    on conflict (level, hour, group_id, account_id, model) do update set ${GROWTH}),
  grown_faults as (
    insert into request_fault_hours as h (hour, group_id, account_id, model, kind, attempts)
    select to_timestamp(s.hour * 3600::float8), s.group_id, s.account_id, s.model, s.kind, s.attempts
    from locked, jsonb_to_recordset(${JSON.stringify(sums.faults)}::jsonb) as s (
      hour int, group_id text, account_id text, model text, kind text, attempts bigint)
    where locked.n >= 0 order by 1, 2, 3, 4, 5
    on conflict (hour, group_id, account_id, model, kind) do update set attempts = h.attempts + excluded.attempts),`;

const COLUMNS = sql.join(HOUR_COLUMNS.map((name) => sql.ref(name)));
const COLUMN_TYPES = sql.join(HOUR_COLUMNS.map((name) => sql`${sql.ref(name)} numeric`));
const GROWTH = sql.join(
  HOUR_COLUMNS.map((name) => sql`${sql.ref(name)} = h.${sql.ref(name)} + excluded.${sql.ref(name)}`),
);

/** The current hour, and earlier ones of calls that took long. */
const KEPT_HOURS = 4;

const isDuplicate = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '23505';
