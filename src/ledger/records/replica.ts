/**
 * A process that admits calls, as the others see it: a row that it keeps fresh, and a mark by which a process of the same
 * machine can tell for certain whether it still lives.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { sql } from 'kysely';
import { base62, type Clock } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';

/** A replica that cannot be seen is dead after this long without a sign of life. Compared by the database's clock. */
export const REPLICA_LIFETIME_MS = 60_000;
export const HEARTBEAT_INTERVAL_MS = 10_000;
/** A replica that could not show a sign of life for this long stops trusting its leases; well before others stop. */
const TRUST_MS = 30_000;

export const newReplicaId = (): string => `rep_${base62(randomBytes(16))}`;

export interface ProcessIdentity {
  /** Boot and process namespace: process ids mean the same thing only where both are the same. */
  readonly host: string;
  readonly pid: number;
  /** When it was started, since ids are used again. */
  readonly start: string;
}

export const ownIdentity = (): ProcessIdentity => ({
  host: hostMark(),
  pid: process.pid,
  start: startOf(process.pid) ?? '',
});

/** Undefined: it lives, if at all, where this process cannot look. */
export function isProcessDead(mark: ProcessIdentity): boolean | undefined {
  if (mark.host !== hostMark()) return undefined;
  try {
    process.kill(mark.pid, 0);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return true;
  }
  const start = startOf(mark.pid);
  // Where start times cannot be read, an id that is in use may be anybody's by now.
  return start === undefined || mark.start === '' ? undefined : start !== mark.start;
}

function hostMark(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** A zombie has ended too. */
function startOf(pid: number): string | undefined {
  try {
    // The name in parentheses may hold anything, spaces and parentheses included.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, '').trim().split(' ');
    const [state] = fields;
    return state === 'Z' || state === 'X' ? 'ended' : fields[19];
  } catch {
    return undefined;
  }
}

/** What is not in the database yet. */
export interface Backlog {
  readonly pending: number;
  /** When the oldest of it was made. */
  readonly since: number | undefined;
}

/** Keeps the row of this process. */
export class Replica {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #backlog: () => Backlog;
  readonly #onLost: (oldId: string) => Promise<void>;
  #id: string;
  #seenAt = Number.NEGATIVE_INFINITY;
  #beating: Promise<void> | undefined;

  /** `onLost`: this process was taken for dead; its leases and its journal are another's, and it goes on under a new id. */
  constructor(options: {
    id: string;
    db: Db;
    clock: Clock;
    backlog: () => Backlog;
    onLost: (oldId: string) => Promise<void>;
  }) {
    this.#id = options.id;
    this.#db = options.db;
    this.#clock = options.clock;
    this.#backlog = options.backlog;
    this.#onLost = options.onLost;
  }

  get id(): string {
    return this.#id;
  }

  async register(): Promise<void> {
    const asked = this.#clock.now();
    await this.#db
      .insertInto('replicas')
      .values({ id: this.#id, host: hostname() })
      .onConflict((c) => c.doNothing())
      .execute();
    this.#seenAt = asked;
  }

  /** Others may not have taken it for dead, so what it leased is still its own. */
  get isTrusted(): boolean {
    return this.#clock.now() - this.#seenAt < TRUST_MS;
  }

  /** One at a time: a second loss while the first is being dealt with would be none. */
  beat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  async #beat(): Promise<void> {
    const asked = this.#clock.now();
    const { pending, since } = this.#backlog();
    const { numUpdatedRows } = await this.#db
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
      this.#seenAt = asked;
      return;
    }
    const oldId = this.#id;
    // First of all, so that no answer about the old one's leases is taken for one about its own.
    this.#id = newReplicaId();
    await this.#onLost(oldId);
    await this.register();
  }
}

/**
 * Takes a replica for dead if it has shown no sign of life for its lifetime; from then on it cannot come back under this id.
 * Undefined when the database knows nothing of it.
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

/** Replicas that died where nobody has found their journal; their leases stay held until somebody does, or an operator gives up. */
export async function staleReplicas(db: Db): Promise<StaleReplica[]> {
  const { rows } = await sql<StaleReplica>`
    select r.id, r.host, r.seen_at as "seenAt",
      coalesce((select sum(l.nanos) from leases l where l.replica_id = r.id), 0)::bigint as leased
    from replicas r where r.seen_at < now() - ${REPLICA_LIFETIME_MS} * interval '1 millisecond' order by r.seen_at`.execute(
    db,
  );
  return rows;
}

/** The end of a replica: what it leased goes back. Its journal has been read, or an operator knows that it never will be. */
export async function removeReplica(db: Db, id: string): Promise<void> {
  const retire = async (tx: Db): Promise<void> => {
    await sql`
      select from wallets where user_id in (select user_id from leases where replica_id = ${id})
      order by user_id for no key update`.execute(tx);
    await sql`
      with gone as (delete from leases where replica_id = ${id} returning user_id, nanos)
      update wallets w set held = w.held - gone.nanos from gone where w.user_id = gone.user_id`.execute(tx);
    await tx.deleteFrom('replicas').where('id', '=', id).execute();
  };
  await (db.isTransaction ? retire(db) : db.transaction().execute(retire));
}
