/** Joins allowance, journal and flusher for one process: from "may this call be made" to a charge in the database. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, errorFields, fail, type LimitedKey, type Log, type Nanos } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import type { Redis } from '../redis/index.ts';
import { SPEND_REFRESH_MS, type SpendHold, SpendLimits } from './admission/spend-limits.ts';
import { RedisSpendLimits } from './admission/spend-limits-redis.ts';
import { type Reservation, WalletLeases } from './admission/wallet-leases.ts';
import type { OnStep } from './crash-points.ts';
import { Flusher, UsageWriter } from './records/flusher.ts';
import { Journal } from './records/journal.ts';
import { makeOwnFolder, recoverDead } from './records/recover.ts';
import { HEARTBEAT_INTERVAL_MS, newReplicaId, Replica, removeReplica } from './records/replica.ts';
import { chargeOf, type UsageRecord } from './usage-record.ts';

export interface MeteringOptions {
  readonly db: Db;
  /** The journal lives below it; it must outlive the process. */
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Where replicas count together what keys and users spend. */
  readonly redis?: Redis | undefined;
  /** Waits for the disk before an answer ends: for machines whose power may fail. */
  readonly sync?: boolean;
  readonly segmentBytes?: number;
  readonly onStep?: OnStep | undefined;
}

/** How far this process is behind. */
export interface MeteringState {
  readonly pending: number;
  /** Age of the oldest record that is not in the database. */
  readonly oldestMs: number;
  readonly journalBytes: number;
  /** How often in a row the database has taken nothing. */
  readonly flushFailures: number;
}

export interface Metering {
  readonly replicaId: string;
  readonly state: MeteringState;
  /**
   * The right to make a call that costs at most `bound`; throws or rejects with `insufficient_balance`, or `spend_limit_reached` when
   * it is made with a key that has such a limit.
   */
  admit(userId: string, bound: Nanos, key?: LimitedKey): Reservation | Promise<Reservation>;
  /** What was settled so far survives the end of the process. Rejects when the disk refuses. */
  flushed(): Promise<void>;
  /** The same for who goes on in any case, also when the disk refuses: to be awaited before an answer ends. */
  flushedOrFailed(): Promise<void>;
  /** What was settled so far is in the database. */
  drain(): Promise<void>;
  /** Brings journals and leases of dead processes home; done at the start and every half minute anyway. */
  recover(): Promise<string[]>;
  /** After the last call: empties the journal and gives everything back. With the database down, leaves that to the next start. */
  close(): Promise<void>;
}

/** Calls whose clients were cut at the end of a drain still have to say what they cost. */
const LAST_CALLS_MS = 2_000;
const TIDY_MS = 1_000;
const RECOVER_MS = 30_000;
/** Months are made at least a month ahead; looking this rarely is often enough. */
const PREPARE_MS = 6 * 3_600_000;

export async function startMetering(options: MeteringOptions): Promise<Metering> {
  const { db, clock, log, onStep, sync = false, segmentBytes } = options;
  const home = join(options.dataDir, 'journal');
  await mkdir(home, { recursive: true, mode: 0o700 });
  const store = new UsageWriter({ db, log, onStep });
  await store.prepare(clock.now());

  const firstId = newReplicaId();
  const { id: ledgerId } = await db.selectFrom('ledger_identity').select('id').executeTakeFirstOrThrow();
  let dir = await makeOwnFolder(home, firstId, ledgerId);
  const journal = new Journal({
    dir,
    clock,
    log,
    sync,
    ...(segmentBytes !== undefined && { segmentBytes }),
    ...(onStep && { onStep }),
  });
  const replica = new Replica({
    id: firstId,
    db,
    clock,
    backlog: () => ({ pending: journal.pending, since: journal.pendingSince }),
    onLost: async (oldId) => {
      log.error('replica.fenced', { replica: oldId, now: replica.id });
      onStep?.('replica.fenced');
      allowance.onFenced();
      dir = await makeOwnFolder(home, replica.id, ledgerId);
      await journal.renew(dir);
      onStep?.('replica.renewed');
    },
  });
  const append = (record: UsageRecord): void => {
    journal.append(record);
    spending.settled(record);
  };
  const allowance = new WalletLeases({ db, replica, append, clock, log, onStep });
  const flusher = new Flusher({
    store,
    journal,
    replica,
    clock,
    log,
    onMoved: (records, leases) => {
      allowance.moved(records, leases);
      spending.moved(records);
    },
  });
  const spending = new SpendLimits({
    db,
    clock,
    between: (task) => flusher.between(task),
    pending: () => journal.peek(journal.pending),
    shared: options.redis && new RedisSpendLimits(options.redis),
  });
  await replica.register();

  const recover = (): Promise<string[]> =>
    recoverDead({ db, store, home, selfId: replica.id, ledgerId, clock, log, onStep });
  await recover();
  let isClosed = false;
  const rounds = [
    every(HEARTBEAT_INTERVAL_MS, 'replica.heartbeat_failed', () => replica.beat()),
    every(TIDY_MS, 'wallet_lease.return_failed', () => allowance.returnIdle()),
    every(RECOVER_MS, 'journal.recovery_failed', recover),
    every(SPEND_REFRESH_MS, 'spend_limits.refresh_failed', () => spending.refresh()),
    every(PREPARE_MS, 'usage.partition_failed', () => store.prepare(clock.now())),
  ];

  return {
    get replicaId() {
      return replica.id;
    },
    get state() {
      const since = journal.pendingSince;
      return {
        pending: journal.pending,
        oldestMs: since === undefined ? 0 : Math.max(0, clock.now() - since),
        journalBytes: journal.bytes,
        flushFailures: flusher.failures,
      };
    },
    admit(userId, bound, key) {
      if (isClosed) throw fail('shutting_down');
      // Calls under way are answered, their records wait in memory; nothing new is begun that the end of the process could lose.
      if (journal.isFailing)
        throw fail('server_is_overloaded', 'What calls use cannot be recorded at the moment.', { retryAfter: 1 });
      const hold = key && spending.reserve(key, bound);
      if (!hold) return allowance.admit(userId, bound);
      return hold instanceof Promise
        ? hold.then((held) => admitHeld(allowance, userId, bound, held))
        : admitHeld(allowance, userId, bound, hold);
    },
    flushed: () => journal.flushed(),
    flushedOrFailed: () => journal.tried(),
    drain: () => flusher.drain(),
    recover,
    async close() {
      isClosed = true;
      onStep?.('close.begun');
      await Promise.all(rounds.map((round) => round.stop()));
      const isQuiet = await allowance.close(LAST_CALLS_MS);
      await flusher.stop();
      try {
        await flusher.drain();
        onStep?.('close.drained');
        if (!isQuiet) throw new Error('calls are still open');
        await removeReplica(db, replica.id);
        onStep?.('close.retired');
        await journal.close();
        await rm(dir, { recursive: true, force: true });
      } catch (error) {
        await journal.close();
        log.error('journal.not_drained', { replica: replica.id, pending: journal.pending, ...errorFields(error) });
      }
    },
  };

  /** Again and again, `ms` after the last time ended; a failure is logged and forgotten. */
  function every(ms: number, failure: string, task: () => Promise<unknown>): { stop(): Promise<void> } {
    let running = Promise.resolve();
    let isStopped = false;
    let cancel = clock.after(ms, round);
    function round(): void {
      running = task()
        .catch((error: unknown) => log.error(failure, errorFields(error)))
        .then(() => {
          if (!isStopped) cancel = clock.after(ms, round);
        });
    }
    return {
      async stop() {
        isStopped = true;
        cancel();
        await running;
      },
    };
  }
}

/** The wallet must cover the call too; what is set aside under a limit ends with the reservation, or without one. */
function admitHeld(
  allowance: WalletLeases,
  userId: string,
  bound: Nanos,
  hold: SpendHold,
): Reservation | Promise<Reservation> {
  const join = (reservation: Reservation): Reservation => ({
    bound,
    settle(record) {
      reservation.settle(record);
      hold.end(chargeOf(record));
    },
    release() {
      reservation.release();
      hold.end(0n);
    },
  });
  const giveUp = (error: unknown): never => {
    hold.end(0n);
    throw error;
  };
  try {
    const admitted = allowance.admit(userId, bound);
    return admitted instanceof Promise ? admitted.then(join, giveUp) : join(admitted);
  } catch (error) {
    return giveUp(error);
  }
}
