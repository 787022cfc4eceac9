/**
 * Wallet leases over many replicas, with the real policy of src/ledger: thousands of wallets of four sizes, calls on random replicas, and
 * replicas that crash, stop for a while, or lose the database. Time is virtual. Reports what was admitted, and where the money was.
 */
import assert from 'node:assert/strict';
import { ApiError } from '../../src/core/index.ts';
import type { Reservation } from '../../src/ledger/admission/wallet-state.ts';
import { createUsageRecord, type UsageRecord } from '../../src/ledger/usage-record.ts';
import { seededRandom } from '../support/random.ts';
import { SimulatedLedger } from './lease-ledger.ts';
import { type ReplicaWorld, SimulatedReplica, type StatementKind } from './lease-replica.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface LeaseSimulationOptions {
  readonly replicas: number;
  /** Replicas that the calls of one user reach; all of them with a load balancer that knows no users. */
  readonly spread?: number;
  /** Of each size. */
  readonly wallets: number;
  readonly minutes: number;
  /** Calls per second, over all replicas. */
  readonly rate: number;
  readonly seed: number;
  /** Failures per minute, over all replicas, of each kind; 0 for a calm run. */
  readonly failures: number;
}

/** Wallets by how many calls of the largest cost they pay for. */
export const SIZES = { tiny: 20n, small: 200n, medium: 2_000n, large: 100_000n } as const;
export type WalletSize = keyof typeof SIZES;

export interface SizeReport {
  admitted: number;
  /** Rejected calls that the wallet could not have paid for, and those that it could: the money was leased elsewhere. */
  rejected: number;
  wronglyRejected: number;
  /** Of the money that is left: means over time of what no call uses in leases of live replicas, and in leases of dead ones. */
  idleShare: number;
  deadShare: number;
  /** The largest share of one wallet that dead replicas held. */
  maxDeadShare: number;
}

export interface LeaseReport {
  readonly calls: number;
  readonly statements: ReadonlyMap<StatementKind, number>;
  readonly sizes: Readonly<Record<WalletSize, SizeReport>>;
  /** Milliseconds that admitted calls waited for a lease, sorted. */
  readonly waits: readonly number[];
  readonly failures: {
    readonly crashes: number;
    readonly pauses: number;
    readonly cuts: number;
    readonly fenced: number;
  };
  /** Calls that were refused because the ledger did not respond. */
  readonly unavailable: number;
  /** Admitted although the open calls and charges of the wallet then exceeded its credit, by replicas that were not fenced. */
  readonly overspent: number;
  /** Charged beyond the leases, which only calls of fenced replicas can be. */
  readonly overdraft: bigint;
}

/** The largest cost of a usual call. */
const UNIT = 1_000_000n;
/** What a call costs of its maximum, how long it takes, and how many end without a charge. */
const CALL = { minCost: 0.05, costSpread: 0.55, minMs: 200, spreadMs: 12_000, freeShare: 0.1 };
const FAILURE_MS = { restart: [5_000, 60_000], pause: [5_000, 95_000], cut: [2_000, 60_000] } as const;
/** Other processes look for dead replicas this often. */
const RECOVER_MS = 30_000;
const SAMPLE_MS = 1_000;
/** Long enough for every call, pause, restart, recovery and idle lease to end, and for replicas to return what is asked for. */
const QUIET_MS = 220_000;
const ASKED_MS = 5_000;
const LOST_RESULTS = 0.0005;

interface OpenCall {
  readonly replica: SimulatedReplica;
  /** Times that the replica had been fenced before. */
  readonly fenced: number;
  readonly maxCost: bigint;
}

interface User {
  readonly id: string;
  readonly size: WalletSize;
  readonly open: Set<OpenCall>;
  reserved: bigint;
  charged: bigint;
}

export class LeaseSimulation {
  readonly #options: LeaseSimulationOptions;
  readonly #clock = new VirtualClock();
  readonly #ledger = new SimulatedLedger(() => this.#clock.elapsed());
  readonly #world: ReplicaWorld;
  readonly #random: () => number;
  readonly #users: User[] = [];
  #replicas: SimulatedReplica[] = [];
  /** Crashed ones whose journal waits for recovery. */
  readonly #dead = new Set<SimulatedReplica>();
  readonly #sizes: Record<WalletSize, SizeReport>;
  readonly #waits: number[] = [];
  readonly #counts = { calls: 0, crashes: 0, pauses: 0, cuts: 0, unavailable: 0, overspent: 0, samples: 0, started: 0 };

  constructor(options: LeaseSimulationOptions) {
    this.#options = options;
    const next = seededRandom(options.seed);
    this.#random = () => next() / 2 ** 32;
    this.#world = {
      clock: this.#clock,
      ledger: this.#ledger,
      random: this.#random,
      lostResults: options.failures > 0 ? LOST_RESULTS : 0,
      statements: new Map(),
    };
    const names = Object.keys(SIZES) as WalletSize[];
    this.#sizes = Object.fromEntries(names.map((name) => [name, emptyReport()])) as Record<WalletSize, SizeReport>;
    for (const size of names)
      for (let n = 0; n < options.wallets; n += 1) {
        const id = `${size}-${n}`;
        this.#ledger.addWallet(id, SIZES[size] * UNIT);
        this.#users.push({ id, size, open: new Set(), reserved: 0n, charged: 0n });
      }
    this.#replicas = Array.from({ length: options.replicas }, () => this.#start());
  }

  /** Throws when the books of the ledger do not agree at any moment, or at the end. */
  async run(): Promise<LeaseReport> {
    const endMs = this.#options.minutes * 60_000;
    this.#every(
      () => 1_000 / this.#options.rate,
      () => this.#call(),
      endMs,
    );
    this.#every(
      () => SAMPLE_MS,
      () => this.#sample(),
      endMs,
    );
    this.#every(
      () => RECOVER_MS,
      () => this.#recover(),
      Number.POSITIVE_INFINITY,
    );
    const { failures } = this.#options;
    if (failures > 0)
      for (const fail of [() => this.#crash(), () => this.#pause(), () => this.#cut()])
        this.#every(() => (2 * this.#random() * 60_000) / failures, fail, endMs);
    await this.#clock.runUntil(endMs);
    await this.#clock.runUntil(endMs + QUIET_MS);
    // A lease whose grant was lost stays until another replica asks for it.
    for (const userId of this.#ledger.wallets.keys()) this.#ledger.wantAll(userId);
    await this.#clock.runUntil(endMs + QUIET_MS + ASKED_MS);
    this.#checkEnd();
    return this.#report();
  }

  #start(): SimulatedReplica {
    this.#counts.started += 1;
    return new SimulatedReplica(this.#world, `rep_${this.#counts.started}`);
  }

  #every(ms: () => number, task: () => void, endMs: number): void {
    const next = (): void => {
      if (this.#clock.elapsed() >= endMs) return;
      task();
      this.#clock.after(ms(), next);
    };
    this.#clock.after(ms(), next);
  }

  // ---------------------------------------------------------------- calls

  #call(): void {
    const { replicas, spread = replicas } = this.#options;
    const place = Math.floor(this.#random() * this.#users.length);
    const user = this.#users[place] ?? assert.fail();
    const replica = this.#replicas[(place + Math.floor(this.#random() * spread)) % replicas] ?? assert.fail();
    if (!replica.isServing) return;
    this.#counts.calls += 1;
    const maxCost = BigInt(Math.round(Number(UNIT) * (0.2 + 0.8 * this.#random())));
    const beganAt = this.#clock.elapsed();
    const fenced = replica.fenced;
    replica.admit(user.id, maxCost).then(
      (reservation) =>
        this.#admitted(user, { replica, fenced, maxCost }, { reservation, waited: this.#clock.elapsed() - beganAt }),
      (error: unknown) => this.#refused(user, maxCost, error),
    );
  }

  #admitted(
    user: User,
    call: OpenCall,
    { reservation, waited }: { readonly reservation: Reservation; readonly waited: number },
  ): void {
    const { replica, maxCost } = call;
    // Its process has died, and nothing was sent.
    if (replica.isDead) return;
    this.#waits.push(waited);
    this.#sizes[user.size].admitted += 1;
    user.open.add(call);
    user.reserved += maxCost;
    if (user.reserved + user.charged > SIZES[user.size] * UNIT && !isFenced(user)) this.#counts.overspent += 1;
    replica.after(CALL.minMs + this.#random() * CALL.spreadMs, () => {
      this.#close(user, call);
      if (this.#random() < CALL.freeShare) return reservation.release();
      const share = CALL.minCost + CALL.costSpread * this.#random();
      const record = this.#record(user.id, BigInt(Math.round(Number(maxCost) * share)));
      user.charged += record.charge;
      reservation.settle(record);
    });
  }

  #close(user: User, call: OpenCall): void {
    if (user.open.delete(call)) user.reserved -= call.maxCost;
  }

  #refused(user: User, maxCost: bigint, error: unknown): void {
    if (!(error instanceof ApiError)) throw error;
    if (error.code !== 'insufficient_balance') {
      this.#counts.unavailable += 1;
      return;
    }
    const report = this.#sizes[user.size];
    if (SIZES[user.size] * UNIT - user.charged - user.reserved >= maxCost) report.wronglyRejected += 1;
    else report.rejected += 1;
  }

  #record(userId: string, nanos: bigint): UsageRecord {
    return createUsageRecord({
      id: `use_${this.#counts.calls}_${this.#clock.elapsed()}_${this.#random()}`,
      at: this.#clock.now(),
      userId,
      keyId: 'key',
      groupId: 'group',
      accountId: 'account',
      model: 'model',
      operation: 'messages.create',
      usage: { input: 1, cacheRead: 0, cacheWrite: 0, output: 1 },
      images: 0,
      nanos,
      priceId: null,
      estimated: false,
      requestId: 'req',
    });
  }

  // ---------------------------------------------------------------- failures

  #crash(): void {
    const victim = this.#pick(this.#replicas);
    if (victim.isDead) return;
    this.#counts.crashes += 1;
    victim.crash();
    this.#dead.add(victim);
    for (const user of this.#users)
      for (const call of [...user.open]) if (call.replica === victim) this.#close(user, call);
    this.#clock.after(this.#between(FAILURE_MS.restart), () => {
      this.#replicas[this.#replicas.indexOf(victim)] = this.#start();
      // The new process finds the journal of the dead one on its disk.
      this.#recoverJournal(victim, victim.ids);
      this.#dead.delete(victim);
    });
  }

  #pause(): void {
    const victim = this.#pick(this.#replicas);
    if (!victim.isServing) return;
    this.#counts.pauses += 1;
    victim.freeze(this.#between(FAILURE_MS.pause));
  }

  #cut(): void {
    this.#counts.cuts += 1;
    this.#pick(this.#replicas).loseDatabase(this.#between(FAILURE_MS.cut));
  }

  /** The worst case: no process can see whether another lives, so that a paused one is taken for dead. */
  #recover(): void {
    for (const replica of this.#replicas) {
      const { id } = replica;
      if (!replica.isDead && this.#ledger.fenceIfStale(id)) this.#recoverJournal(replica, [id]);
    }
  }

  #recoverJournal({ journal }: SimulatedReplica, ids: readonly string[]): void {
    for (const id of ids) {
      this.#ledger.charge(id, journal);
      this.#ledger.remove(id);
    }
  }

  // ---------------------------------------------------------------- report

  #sample(): void {
    this.#counts.samples += 1;
    const deadIds = new Set([...this.#dead].flatMap(({ ids }) => ids));
    const sums = new Map<WalletSize, { left: number; idle: number; dead: number }>();
    for (const user of this.#users) {
      const { credits, debits, held, leases } = this.#ledger.wallets.get(user.id) ?? assert.fail();
      const left = Number(credits - debits);
      let dead = 0;
      if (deadIds.size > 0) for (const id of deadIds) dead += Number(leases.get(id)?.nanos ?? 0n);
      const inUse = Number(user.reserved) + Number(user.charged - debits);
      const sum = sums.get(user.size) ?? { left: 0, idle: 0, dead: 0 };
      sum.left += left;
      sum.idle += Math.max(0, Number(held) - dead - inUse);
      sum.dead += dead;
      sums.set(user.size, sum);
      const report = this.#sizes[user.size];
      if (left > 0) report.maxDeadShare = Math.max(report.maxDeadShare, dead / left);
    }
    for (const [size, { left, idle, dead }] of sums) {
      this.#sizes[size].idleShare += idle / left;
      this.#sizes[size].deadShare += dead / left;
    }
  }

  /** Every charge arrived exactly once, and every lease was returned. */
  #checkEnd(): void {
    for (const { id, charged, open } of this.#users) {
      const { debits, held, leases } = this.#ledger.wallets.get(id) ?? assert.fail();
      assert.equal(open.size, 0, 'a call is still open');
      assert.equal(debits, charged, `charges of ${id}`);
      const holders = [...leases].flatMap(([replica, { nanos }]) => (nanos > 0n ? [replica] : []));
      assert.deepEqual([held, holders], [0n, []], `leases of ${id}`);
    }
  }

  #report(): LeaseReport {
    const { calls, crashes, pauses, cuts, unavailable, overspent, samples } = this.#counts;
    const means = Object.entries(this.#sizes).map(([size, report]) => [
      size,
      { ...report, idleShare: report.idleShare / samples, deadShare: report.deadShare / samples },
    ]);
    const fenced = this.#replicas.reduce((sum, replica) => sum + replica.fenced, 0);
    return {
      calls,
      statements: this.#world.statements,
      sizes: Object.fromEntries(means),
      waits: this.#waits.sort((a, b) => a - b),
      failures: { crashes, pauses, cuts, fenced },
      unavailable,
      overspent,
      overdraft: [...this.#ledger.wallets.values()].reduce((sum, { overdraft }) => sum + overdraft, 0n),
    };
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] ?? assert.fail('nothing to pick from');
  }

  #between([min, max]: readonly [number, number]): number {
    return min + this.#random() * (max - min);
  }
}

/** One of its calls runs on a replica that was fenced meanwhile, whose leases others may have. */
const isFenced = ({ open }: User): boolean => [...open].some(({ replica, fenced }) => replica.fenced > fenced);

const emptyReport = (): SizeReport => ({
  admitted: 0,
  rejected: 0,
  wronglyRejected: 0,
  idleShare: 0,
  deadShare: 0,
  maxDeadShare: 0,
});
