/** Metering of one process: admission, journal and flusher, from a reservation to a charge in the database. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as core from '../core/index.ts';
import type { Link } from '../platform/cluster/index.ts';
import type { Db } from '../platform/db/index.ts';
import type { Redis } from '../platform/redis/index.ts';
import { AccountCosts, type AccountCostsOptions, COST_REFRESH_MS } from './admission/account-costs.ts';
import { databaseLeases } from './admission/lease-queries.ts';
import { PrimarySpend } from './admission/primary-spend.ts';
import { RedisSpend } from './admission/redis-spend.ts';
import { LocalSpend, type SpendCounts, type SpendHold } from './admission/spend-counts.ts';
import { SPEND_REFRESH_MS, SpendLimits } from './admission/spend-limits.ts';
import { WalletLeases } from './admission/wallet-leases.ts';
import type { Reservation } from './admission/wallet-state.ts';
import { RETURN_WANTED_MS } from './admission/wishes.ts';
import { logAlarmCleared, logAlarmRaised } from './alarms.ts';
import { crashPoint } from './crash-points.ts';
import { Flusher } from './records/flusher.ts';
import { Journal } from './records/journal.ts';
import { createReplicaFolder, recoverDead } from './records/recover.ts';
import { HEARTBEAT_INTERVAL_MS, newReplicaId, Replica, removeReplica } from './records/replica.ts';
import { UsageWriter } from './records/usage-writer.ts';
import type { UsageRecord } from './usage-record.ts';

export interface MeteringOptions {
  readonly db: Db;
  /** For statements that a call waits for; `db` by default. */
  readonly forCalls?: Db | undefined;
  /** Parent of the journal folders; it must outlive the process. */
  readonly dataDir: string;
  readonly clock: core.Clock;
  readonly log: core.Log;
  readonly redis?: Redis | undefined;
  /** Without Redis: the primary shares them between the workers of this machine. */
  readonly primary?: Link | undefined;
  /** Accounts with a limit of the provider's cost, and the processes of this machine that share it. */
  readonly costLimits?: Pick<AccountCostsOptions, 'accounts' | 'workers'> | undefined;
  /** Waits for fdatasync before a response ends, so that records survive a power failure. */
  readonly sync?: boolean;
  readonly segmentBytes?: number;
  readonly flushMs?: number | undefined;
}

/** How far the database is behind this process. */
export interface MeteringState {
  readonly pending: number;
  readonly oldestMs: number;
  readonly journalBytes: number;
  readonly flushFailures: number;
}

/** Clients that are cut at the end of a drain leave calls that still have to settle. */
const LAST_CALLS_MS = 2_000;
const RETURN_IDLE_MS = 1_000;
const RECOVER_MS = 30_000;
/** Partitions are created at least a month ahead, so this is often enough. */
const CREATE_MONTHS_MS = 6 * 3_600_000;

interface ReplicaFolder {
  readonly replicaId: string;
  readonly ledgerId: string;
  readonly journalsDir: string;
  readonly dir: string;
}

export class Metering {
  readonly accountCosts: AccountCosts;
  readonly #options: MeteringOptions;
  readonly #folder: ReplicaFolder;
  #dir: string;
  readonly #writer: UsageWriter;
  readonly #journal: Journal;
  readonly #replica: Replica;
  readonly #leases: WalletLeases;
  readonly #flusher: Flusher;
  readonly #spendLimits: SpendLimits;
  #repetitions: readonly core.Repetition[] = [];
  #isClosed = false;

  /** Registers this process as a replica and recovers the journals of dead ones. */
  static async start(options: MeteringOptions): Promise<Metering> {
    const { db, dataDir, clock, log } = options;
    const journalsDir = join(dataDir, 'journal');
    await mkdir(journalsDir, { recursive: true, mode: 0o700 });
    const writer = new UsageWriter({ db, log });
    await writer.createMonths(clock.now());
    const replicaId = newReplicaId();
    const { id: ledgerId } = await db.selectFrom('ledger_identity').select('id').executeTakeFirstOrThrow();
    const dir = await createReplicaFolder(journalsDir, replicaId, ledgerId);
    const metering = new Metering(options, writer, { replicaId, ledgerId, journalsDir, dir });
    await metering.#replica.register();
    await metering.recover();
    await metering.accountCosts.refresh();
    metering.#startRepetitions();
    return metering;
  }

  private constructor(options: MeteringOptions, writer: UsageWriter, folder: ReplicaFolder) {
    const { db, forCalls = db, clock, log, flushMs } = options;
    this.#options = options;
    this.#folder = folder;
    this.#dir = folder.dir;
    this.#writer = writer;
    const journal = new Journal({ ...options, dir: folder.dir });
    this.#journal = journal;
    this.#replica = new Replica({
      id: folder.replicaId,
      db: forCalls,
      clock,
      backlog: () => ({ pending: journal.pending, since: journal.pendingSince }),
      onFenced: (oldId) => this.#onFenced(oldId),
    });
    const append = (record: UsageRecord, isLow: boolean): void => {
      journal.append(record);
      const isLimited = this.#spendLimits.onSettled(record);
      const hasCostLimit = this.accountCosts.onSettled(record);
      // Other replicas see what a limited key or account has spent,
      // and get what a low wallet has left, only after the flush.
      if (isLimited || hasCostLimit || isLow) this.#flusher.flushSoon();
    };
    this.#leases = new WalletLeases({
      store: databaseLeases(forCalls),
      replica: this.#replica,
      append,
      onUse: () => {
        for (const repetition of this.#repetitions) repetition.wake();
      },
      clock,
      log,
    });
    this.#flusher = new Flusher({
      intervalMs: flushMs,
      writer,
      journal,
      replica: this.#replica,
      clock,
      log,
      onFlushed: (records, leases) => {
        this.#leases.onFlushed(records, leases);
        this.#spendLimits.onFlushed(records);
      },
      onFailing: (count, detail) => logAlarmRaised(log, { name: 'flusher_failing', count, detail }),
      onRecovered: () => logAlarmCleared(log, 'flusher_failing'),
    });
    const betweenFlushes = (task: () => Promise<void>): Promise<void> => this.#flusher.betweenFlushes(task);
    const costLimits = options.costLimits ?? { accounts: () => [], workers: 1 };
    this.accountCosts = new AccountCosts({ db, clock, betweenFlushes, ...costLimits });
    writer.onRecorded = (records, costs) => this.accountCosts.onRecorded(records, costs);
    this.#spendLimits = new SpendLimits({
      db,
      clock,
      betweenFlushes,
      pending: () => journal.peek(journal.pending),
      counts: createSpendCounts(options),
    });
  }

  get replicaId(): string {
    return this.#replica.id;
  }

  get state(): MeteringState {
    const { pending, pendingSince, bytes } = this.#journal;
    return {
      pending,
      oldestMs: pendingSince === undefined ? 0 : Math.max(0, this.#options.clock.now() - pendingSince),
      journalBytes: bytes,
      flushFailures: this.#flusher.failures,
    };
  }

  /**
   * Reserves the right to a call of at most `maxCost`.
   * Fails with `insufficient_balance`, or `spend_limit_reached` of a limited key.
   */
  admit(userId: string, maxCost: core.Nanos, key?: core.LimitedKey): Reservation | Promise<Reservation> {
    if (this.#isClosed) throw core.fail('shutting_down');
    // Calls in flight complete, with their records in memory. A crash would lose those, so no new call is admitted.
    if (this.#journal.isFailing) throw core.overloaded('Usage recording is temporarily unavailable; retry shortly.', 1);
    const hold = key && this.#spendLimits.reserve(key, maxCost);
    if (!hold) return this.#leases.admit(userId, maxCost);
    return hold instanceof Promise
      ? hold.then((resolved) => this.#admitWithHold(userId, maxCost, resolved))
      : this.#admitWithHold(userId, maxCost, hold);
  }

  /** Throws or rejects with `spend_limit_reached` when a cost does not fit the limits of the key. Reserves nothing. */
  checkSpend(key: core.LimitedKey, nanos: core.Nanos): core.MaybePromise<void> {
    const hold = this.#spendLimits.reserve(key, nanos);
    return hold instanceof Promise ? hold.then((resolved) => resolved.end(0n)) : hold?.end(0n);
  }

  /** Records what an attempt has cost the operator that served no call. Nothing is charged. */
  recordFailed(record: UsageRecord): void {
    this.#journal.append(record);
    if (this.accountCosts.onSettled(record)) this.#flusher.flushSoon();
  }

  /**
   * Resolves once every settled record is on disk, or could not be written:
   * the response is paid for. Awaited before a response ends.
   */
  whenWrittenOrFailed(): Promise<void> {
    return this.#journal.whenWrittenOrFailed();
  }

  /** Resolves once every record settled so far is in the database. Rejects when the database cannot be used. */
  drain(): Promise<void> {
    return this.#flusher.drain();
  }

  /**
   * Recovers the journals and leases of dead processes and returns their replica ids.
   * Also runs at the start and periodically.
   */
  recover(): Promise<string[]> {
    return recoverDead({ ...this.#options, ...this.#folder, writer: this.#writer, selfId: this.#replica.id });
  }

  /**
   * Call after the last request. Drains the journal and returns the leases;
   * if the database is down, the next start does so.
   */
  async close(): Promise<void> {
    const { db, log } = this.#options;
    this.#isClosed = true;
    crashPoint('close.begun');
    await Promise.all(this.#repetitions.map((repetition) => repetition.stop()));
    const isIdle = await this.#leases.close(LAST_CALLS_MS);
    await this.#flusher.stop();
    try {
      await this.#flusher.drain();
      crashPoint('close.drained');
      if (!isIdle) throw new Error('calls are still open');
      await removeReplica(db, this.#replica.id);
      crashPoint('close.removed');
      await this.#journal.close();
      await rm(this.#dir, { recursive: true, force: true });
    } catch (error) {
      await this.#journal.close();
      const { pending } = this.#journal;
      log.error('journal.not_drained', { replica: this.#replica.id, pending, ...core.errorFields(error) });
    }
  }

  #startRepetitions(): void {
    const { clock, log } = this.#options;
    const every = (intervalMs: number, failureEvent: string, task: () => Promise<unknown>, isIdle?: () => boolean) =>
      core.repeat(task, {
        clock,
        intervalMs,
        onError: (error) => log.error(failureEvent, core.errorFields(error)),
        ...(isIdle && { isIdle }),
      });
    const isIdle = (): boolean => this.#leases.isEmpty;
    this.#repetitions = [
      every(HEARTBEAT_INTERVAL_MS, 'replica.heartbeat_failed', () => this.#replica.heartbeat()),
      every(RETURN_IDLE_MS, 'wallet_lease.return_failed', () => this.#leases.returnIdle(), isIdle),
      every(RETURN_WANTED_MS, 'wallet_lease.return_failed', () => this.#leases.returnWanted(), isIdle),
      every(RECOVER_MS, 'journal.recovery_failed', () => this.recover()),
      every(SPEND_REFRESH_MS, 'spend_limits.refresh_failed', () => this.#spendLimits.refresh()),
      every(COST_REFRESH_MS, 'account_costs.refresh_failed', () => this.accountCosts.refresh()),
      every(CREATE_MONTHS_MS, 'usage.partition_failed', () => this.#writer.createMonths(clock.now())),
    ];
  }

  /** Another process owns the old folder and has returned the old leases: continues with new ones. */
  async #onFenced(oldId: string): Promise<void> {
    this.#options.log.error('replica.fenced', { replica: oldId, now: this.#replica.id });
    crashPoint('replica.fenced');
    this.#leases.onFenced();
    const { journalsDir, ledgerId } = this.#folder;
    this.#dir = await createReplicaFolder(journalsDir, this.#replica.id, ledgerId);
    await this.#journal.moveTo(this.#dir);
    crashPoint('replica.renewed');
  }

  /**
   * Reserves from the wallet for a call that its spend limits admit.
   * The hold ends with the reservation, or when there is none.
   */
  #admitWithHold(userId: string, maxCost: core.Nanos, hold: SpendHold): Reservation | Promise<Reservation> {
    const join = (reservation: Reservation): Reservation => ({
      settle(record) {
        reservation.settle(record);
        hold.end(record.charge);
      },
      release() {
        reservation.release();
        hold.end(0n);
      },
    });
    const endHold = (error: unknown): never => {
      hold.end(0n);
      throw error;
    };
    try {
      const admitted = this.#leases.admit(userId, maxCost);
      return admitted instanceof Promise ? admitted.then(join, endHold) : join(admitted);
    } catch (error) {
      return endHold(error);
    }
  }
}

function createSpendCounts({ clock, redis, primary }: MeteringOptions): SpendCounts {
  const local = new LocalSpend(clock);
  if (redis) return new RedisSpend(redis, local);
  return primary ? new PrimarySpend(primary, local) : local;
}
