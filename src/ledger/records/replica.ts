/**
 * Replicas: the processes that admit calls. One whose heartbeat stops is fenced:
 * it must continue under a new id, without its leases and journal folder.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { sql } from 'kysely';
import { base62, type Clock } from '../../core/index.ts';
import { allRows, type Db } from '../../platform/db/index.ts';

/** A replica without a heartbeat for this long counts as dead. Compared with the clock of the database. */
export const REPLICA_LIFETIME_MS = 60_000;
export const HEARTBEAT_INTERVAL_MS = 10_000;
/**
 * After this long without a heartbeat a replica stops using its leases: half a lifetime before others may take them.
 */
export const TRUST_MS = 30_000;
/**
 * A live replica is never seen longer ago: an interval,
 * two heartbeats that take the whole limit of a statement, and late timers.
 */
export const SILENT_MS = 18_000;

export const newReplicaId = (): string => `rep_${base62(randomBytes(16))}`;

export interface Backlog {
  readonly pending: number;
  readonly since: number | undefined;
}

export interface ReplicaOptions {
  readonly id: string;
  readonly db: Db;
  readonly clock: Clock;
  readonly backlog: () => Backlog;
  /** This process was fenced: another one owns its leases and its journal folder, and `id` is new. */
  readonly onFenced: (oldId: string) => Promise<void>;
}

export class Replica {
  readonly #options: ReplicaOptions;
  #id: string;
  #seenAt = Number.NEGATIVE_INFINITY;
  #beating: Promise<void> | undefined;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#id = options.id;
  }

  get id(): string {
    return this.#id;
  }

  async register(): Promise<void> {
    const sentAt = this.#options.clock.elapsed();
    await this.#options.db
      .insertInto('replicas')
      .values({ id: this.#id, host: hostname() })
      .onConflict((c) => c.doNothing())
      .execute();
    this.#seenAt = sentAt;
  }

  /** False when another process may have fenced this replica and returned its leases. */
  get isTrusted(): boolean {
    return this.#options.clock.elapsed() - this.#seenAt < TRUST_MS;
  }

  /** Single flight: fencing must not be handled twice. */
  heartbeat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  async #beat(): Promise<void> {
    const sentAt = this.#options.clock.elapsed();
    const { pending, since } = this.#options.backlog();
    const { numUpdatedRows } = await this.#options.db
      .updateTable('replicas')
      .set({
        seen_at: sql`now()`,
        pending: BigInt(pending),
        pending_since: since === undefined ? null : new Date(since),
      })
      .where('id', '=', this.#id)
      .where('fenced', '=', false)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows > 0n) {
      this.#seenAt = sentAt;
      return;
    }
    const oldId = this.#id;
    // Before anything else: results of statements about the old leases must not be applied to the new ones.
    this.#id = newReplicaId();
    await this.#options.onFenced(oldId);
    await this.register();
  }
}

/**
 * Fences a replica whose heartbeat is too old; it cannot come back under this id.
 * Undefined when the database has no such replica.
 */
export async function fenceIfStale(db: Db, id: string): Promise<boolean | undefined> {
  const { rows } = await sql<{ fenced: boolean }>`
    update replicas set fenced = fenced or seen_at < now() - ${REPLICA_LIFETIME_MS} * interval '1 millisecond'
    where id = ${id} returning fenced`.execute(db);
  return rows[0]?.fenced;
}

export interface StaleReplica {
  readonly id: string;
  readonly host: string;
  readonly seenAt: Date;
  readonly leased: bigint;
}

/**
 * Replicas that died and whose journal was not recovered.
 * Their leases stay held until it is, or until an operator removes them.
 */
export const staleReplicas = (db: Db): Promise<StaleReplica[]> =>
  allRows(db)<StaleReplica>`
    select r.id, r.host, r.seen_at as "seenAt",
      coalesce((select sum(l.nanos) from leases l where l.replica_id = r.id), 0)::bigint as leased
    from replicas r where r.seen_at < now() - ${REPLICA_LIFETIME_MS} * interval '1 millisecond'
    order by r.seen_at`;

/**
 * Removes a replica and returns its leases. Its journal must be recovered,
 * or an operator must know that it is lost for good.
 */
export async function removeReplica(db: Db, id: string): Promise<void> {
  const remove = async (tx: Db): Promise<void> => {
    await sql`
      select from wallets where user_id in (select user_id from leases where replica_id = ${id})
      order by user_id for no key update`.execute(tx);
    await sql`
      with returned as (delete from leases where replica_id = ${id} returning user_id, nanos)
      update wallets w set held = w.held - returned.nanos from returned where w.user_id = returned.user_id`.execute(tx);
    await tx.deleteFrom('replicas').where('id', '=', id).execute();
  };
  await (db.isTransaction ? remove(db) : db.transaction().execute(remove));
}
