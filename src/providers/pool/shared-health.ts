/**
 * What replicas know about accounts, shared through the database every second, and at once for parks.
 * Survives restarts, and never delays a request.
 */
import { sql } from 'kysely';
import { type Clock, errorFields, type Log, type Repetition, repeat } from '../../core/index.ts';
import type { Db, Row } from '../../platform/db/index.ts';
import type { FaultKind, TimeoutClass } from '../../rules/index.ts';
import type { LimitedAccount, UsedRates } from './account-usage.ts';
import type { AccountUse, Cooldown, Park } from './cooldown.ts';
import type { HealthChange, Pool, PooledAccount, SharedState } from './pool.ts';

export interface SharedHealthOptions {
  readonly db: Db;
  readonly pool: Pool;
  readonly accounts: () => readonly (LimitedAccount & Pick<PooledAccount, 'maxConcurrency'>)[];
  /** The id may change while the process runs. */
  readonly replicaId: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

const INTERVAL_MS = 1_000;
/** The others' changes are read this often even if the revision of the pool stays the same. */
const READ_MS = 60_000;
/** Enough for an operator to see what is wrong. */
const MAX_ROWS = 1_000;
/**
 * The number of requests in flight is written this often even if it stays the same;
 * older numbers are of processes that ended.
 */
const LOAD_MS = 5_000;
/** The text of a load without requests and limits in use. */
const NO_LOAD = '{}{}';

const jsonOf = (entries: readonly (readonly [string, unknown])[]): string =>
  JSON.stringify(Object.fromEntries(entries));

export class SharedHealth {
  readonly #options: SharedHealthOptions;
  #repetition: Repetition | undefined;
  #syncing: Promise<void> = Promise.resolve();
  #isWaiting = false;
  #isReadDue = true;
  #readAt = Number.NEGATIVE_INFINITY;
  #load = { replicaId: '', text: NO_LOAD, at: Number.NEGATIVE_INFINITY };
  #isFailing = false;

  /** The first reading is complete before the first request. */
  static async start(options: SharedHealthOptions): Promise<SharedHealth> {
    const shared = new SharedHealth(options);
    await shared.sync();
    options.pool.onParked(() => shared.syncSoon());
    shared.#repetition = repeat(() => shared.#attempt({ isReadDue: false }), {
      clock: options.clock,
      intervalMs: INTERVAL_MS,
      onError: () => {},
    });
    return shared;
  }

  private constructor(options: SharedHealthOptions) {
    this.#options = options;
  }

  /** Writes and reads now. One runs at a time; a further call while one waits is the same one. */
  sync({ isReadDue } = { isReadDue: true }): Promise<void> {
    this.#isReadDue ||= isReadDue;
    if (this.#isWaiting) return this.#syncing;
    this.#isWaiting = true;
    this.#syncing = this.#syncing
      .catch(() => {})
      .then(() => {
        this.#isWaiting = false;
        return this.#syncOnce();
      });
    return this.#syncing;
  }

  /** As `sync`, without waiting for it. A failure is logged, and the next interval repeats it. */
  syncSoon(): void {
    void this.#attempt();
  }

  async stop(): Promise<void> {
    await this.#repetition?.stop();
    await this.#attempt();
    const { db, replicaId } = this.#options;
    await sql`delete from account_loads where replica_id = ${replicaId()}`
      .execute(db)
      .catch((error: unknown) => this.#onError(error));
  }

  async #attempt(options?: { readonly isReadDue: boolean }): Promise<void> {
    await this.sync(options).catch((error: unknown) => this.#onError(error));
  }

  async #syncOnce(): Promise<void> {
    const { db, pool, clock } = this.#options;
    const changes = pool.takeChanges();
    const isReadDue = this.#isReadDue || changes.length > 0 || clock.elapsed() - this.#readAt >= READ_MS;
    this.#isReadDue = false;
    try {
      if (changes.length > 0) await this.#write(changes.slice(0, MAX_ROWS));
      pool.restoreChanges(changes.slice(MAX_ROWS));
      await this.#writeLoad();
      await this.#readUsage();
      if (!isReadDue) return;
      const state = await readSharedState(db);
      this.#readAt = clock.elapsed();
      pool.adopt(state);
      for (const { account, identity } of pool.outdated(state)) await dropOutdated(db, account, identity);
    } catch (error) {
      pool.restoreChanges(changes);
      this.#isReadDue ||= isReadDue;
      throw error;
    }
    this.#isFailing = false;
  }

  #write(changes: readonly HealthChange[]): Promise<void> {
    const replicaId = this.#options.replicaId();
    return this.#options.db.transaction().execute(async (tx) => {
      await lockHealth(tx);
      await tx.deleteFrom('account_cooldowns').where('until', '<', sql<Date>`now() - interval '1 hour'`).execute();
      // In one order on all replicas, so that two of them do not wait for each other.
      const ordered = changes.toSorted((a, b) => (`${a.account}\n${a.key}` < `${b.account}\n${b.key}` ? -1 : 1));
      for (const { account, identity = null, key, cooldown, endedUntil, park } of ordered) {
        const saved = { replicaId, account, identity };
        const { operation, model } = columnsOf(key);
        if (cooldown) await saveCooldown(tx, saved, { operation, model }, cooldown);
        else if (endedUntil !== undefined)
          // A cooldown that began at another replica meanwhile stays.
          await sql`
            delete from account_cooldowns where account_id = ${account} and operation = ${operation}
              and model = ${model} and until <= ${new Date(endedUntil)}`.execute(tx);
        if (park) await savePark(tx, saved, park);
      }
    });
  }

  /**
   * Requests in flight of this replica, for operators,
   * and what it uses of the limits of accounts, for the other replicas too.
   */
  async #writeLoad(): Promise<void> {
    const { db, pool, accounts, replicaId, clock } = this.#options;
    const counts = accounts().flatMap(({ id }): [string, number][] => {
      const count = pool.inFlight(id);
      return count > 0 ? [[id, count]] : [];
    });
    const usages = accounts().flatMap((account): [string, object][] => {
      const used = pool.usage.used(account, pool.inFlight(account.id));
      const reached = pool.reachedLimit(account);
      const concurrency = account.maxConcurrency === undefined ? pool.learnedLimit(account.id) : undefined;
      const isUsed = used.requests > 0 || used.tokens > 0 || reached || concurrency !== undefined;
      return isUsed ? [[account.id, { ...used, ...reached, concurrency }]] : [];
    });
    const load = { in_flight: jsonOf(counts), used: jsonOf(usages) };
    const next = { replicaId: replicaId(), text: Object.values(load).join(''), at: clock.now() };
    const last = this.#load;
    const isSame = next.text === last.text && (next.replicaId === last.replicaId || next.text === NO_LOAD);
    if (isSame && (next.text === NO_LOAD || next.at - last.at < LOAD_MS)) return;
    // What this process has written under its former id would count as another replica's.
    if (last.replicaId !== next.replicaId)
      await db.deleteFrom('account_loads').where('replica_id', '=', last.replicaId).execute();
    const at = sql<Date>`now()`;
    await db
      .insertInto('account_loads')
      .values({ replica_id: next.replicaId, ...load, at })
      .onConflict((row) => row.column('replica_id').doUpdateSet({ ...load, at }))
      .execute();
    this.#load = next;
  }

  /** A process that ended without a word counts for a minute. */
  async #readUsage(): Promise<void> {
    const { db, pool, accounts, replicaId } = this.#options;
    if (accounts().every(({ limits }) => limits?.rpm === undefined && limits?.tpm === undefined)) return;
    const { rows } = await sql<{ id: string; requests: bigint; tokens: bigint }>`
      select u.key as id,
        sum((u.value ->> 'requests')::bigint)::bigint as requests,
        sum((u.value ->> 'tokens')::bigint)::bigint as tokens
      from account_loads l, jsonb_each(l.used) u
      where l.replica_id <> ${replicaId()} and l.at > now() - interval '1 minute' group by 1`.execute(db);
    const elsewhere = rows.map(({ id, requests, tokens }): [string, UsedRates] => [
      id,
      { requests: Number(requests), tokens: Number(tokens) },
    ]);
    pool.usage.adopt(new Map(elsewhere));
  }

  /** Logs the first of several failures in a row: the database is down, which other lines say too. */
  #onError(error: unknown): void {
    if (!this.#isFailing) this.#options.log.warn('account.report_failed', errorFields(error));
    this.#isFailing = true;
  }
}

/** What a replica writes about an account, as it was identified then. */
interface Saved {
  readonly replicaId: string;
  readonly account: string;
  readonly identity: string | null;
}

/** The longer one of two replicas wins. An account that was removed meanwhile has no row. */
async function saveCooldown(
  tx: Db,
  { replicaId, account, identity }: Saved,
  { operation, model }: ReturnType<typeof columnsOf>,
  cooldown: Cooldown,
): Promise<void> {
  const { kind, providerCode = null, message = null, faults, ejections, isKept, since, until } = cooldown;
  await sql`
    insert into account_cooldowns (replica_id, account_id, identity, operation, model,
      reason, provider_code, message, faults, ejections, in_use, since, until)
    select ${replicaId}, id, ${identity}, ${operation}, ${model},
      ${kind}, ${providerCode}, ${message}, ${faults}::integer, ${ejections}::integer, ${isKept}::boolean,
      ${new Date(since)}::timestamptz, ${new Date(until)}::timestamptz
    from accounts where id = ${account}
    on conflict (account_id, operation, model) do update set
      replica_id = excluded.replica_id, identity = excluded.identity, reason = excluded.reason,
      provider_code = excluded.provider_code, message = excluded.message, faults = excluded.faults,
      ejections = excluded.ejections, in_use = excluded.in_use, since = excluded.since, until = excluded.until
    where account_cooldowns.identity is distinct from excluded.identity
      or account_cooldowns.until <= excluded.until`.execute(tx);
}

async function savePark(tx: Db, { replicaId, account, identity }: Saved, park: Park): Promise<void> {
  await sql`
    insert into account_parks (account_id, state, cause, identity, provider_code, message, replica_id, since)
    select id, ${park.state}, ${park.cause}, ${identity}, ${park.providerCode ?? null}, ${park.message ?? null},
      ${replicaId}, ${new Date(park.since)}::timestamptz
    from accounts where id = ${account}
    on conflict (account_id) do update set identity = excluded.identity, provider_code = excluded.provider_code,
      message = excluded.message, replica_id = excluded.replica_id, since = excluded.since
    where account_parks.cause = 'credential' and account_parks.identity is distinct from excluded.identity`.execute(tx);
}

/**
 * A replica that had not read the new configuration yet wrote them.
 * Nothing else would remove them from what operators see.
 */
const dropOutdated = (db: Db, account: string, identity: string | null): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await lockHealth(tx);
    await sql`
      delete from account_cooldowns
      where account_id = ${account} and identity is not distinct from ${identity}`.execute(tx);
    await sql`
      delete from account_parks
      where account_id = ${account} and cause = 'credential' and identity is not distinct from ${identity}`.execute(tx);
  });

/** Accounts at a limit of their own, on one of the servers: account_id, limit and until. */
export const REACHED_LIMITS = sql`(
  select u.key as account_id, u.value ->> 'limit' as "limit"
    , to_timestamp((u.value ->> 'until')::bigint / 1000.0) as until
  from account_loads l, jsonb_each(l.used) u
  where l.at > now() - interval '15 seconds' and (u.value ->> 'until')::bigint > extract(epoch from now()) * 1000)`;

/**
 * Taken before any row of an account, because the trigger of parks takes it after them:
 * a configuration and a replica would wait for each other.
 */
export async function lockHealth(tx: Db): Promise<void> {
  await tx.selectFrom('revisions').select('name').where('name', '=', 'pool').forUpdate().execute();
}

/** Also cooldowns that are over: their circuits wait for a probe. */
export async function readSharedState(db: Db): Promise<SharedState> {
  const { rows: cooldowns } = await sql<Row<'account_cooldowns'>>`
    select * from account_cooldowns order by until desc limit ${MAX_ROWS}`.execute(db);
  const parks = await db.selectFrom('account_parks').selectAll().limit(MAX_ROWS).execute();
  return {
    cooldowns: cooldowns.map((row) => ({
      account: row.account_id,
      identity: row.identity,
      use: useOf(row),
      kind: row.reason as FaultKind,
      providerCode: row.provider_code ?? undefined,
      message: row.message ?? undefined,
      faults: row.faults,
      ejections: row.ejections,
      isKept: row.in_use,
      since: row.since.getTime(),
      until: row.until.getTime(),
    })),
    parks: parks.map((row) => ({
      account: row.account_id,
      identity: row.identity,
      state: row.state as Park['state'],
      cause: row.cause as Park['cause'],
      providerCode: row.provider_code ?? undefined,
      message: row.message ?? undefined,
      since: row.since.getTime(),
    })),
  };
}

/** The empty operation means the whole account. */
function columnsOf(key: string): { readonly operation: string; readonly model: string } {
  const [operation = '', model = ''] = key.split('\n', 2);
  return { operation, model: model.toWellFormed().replaceAll('\0', '') };
}

const useOf = ({ operation, model }: { operation: string; model: string }): AccountUse | undefined =>
  operation === '' ? undefined : { operation: operation as TimeoutClass, ...(model !== '' && { model }) };
