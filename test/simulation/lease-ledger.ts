/**
 * The ledger of the lease simulation: wallets, leases and replicas in memory, with the effect of the statements in src/ledger. Each statement is
 * one moment, as a transaction is. Checks after every statement that leases and wallets agree.
 */
import assert from 'node:assert/strict';
import { grantOf } from '../../src/ledger/admission/lease-grant.ts';
import type { AskInput, LeaseTake, ReturnInput, TakeInput } from '../../src/ledger/admission/lease-queries.ts';
import { REPLICA_LIFETIME_MS, TRUST_MS } from '../../src/ledger/records/replica.ts';
import type { LeaseState } from '../../src/ledger/records/usage-writer.ts';
import type { UsageRecord } from '../../src/ledger/usage-record.ts';

export interface Wallet {
  readonly credits: bigint;
  debits: bigint;
  held: bigint;
  /** Charged beyond the leases. */
  overdraft: bigint;
  readonly leases: Map<string, Lease>;
}

interface Lease {
  nanos: bigint;
  version: bigint;
  isWanted: boolean;
}

interface ReplicaRow {
  seenAt: number;
  isFenced: boolean;
}

export class SimulatedLedger {
  readonly wallets = new Map<string, Wallet>();
  readonly #replicas = new Map<string, ReplicaRow>();
  readonly #recorded = new Set<string>();
  /** By replica, as an index finds them. */
  readonly #wanted = new Map<string, Set<string>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  addWallet(userId: string, credits: bigint): void {
    this.wallets.set(userId, { credits, debits: 0n, held: 0n, overdraft: 0n, leases: new Map() });
  }

  // ---------------------------------------------------------------- leases

  take(input: TakeInput): LeaseTake {
    const { userId, replicaId } = input;
    const wallet = this.#wallet(userId);
    const available = wallet.credits - wallet.debits - wallet.held;
    const granted = grantOf(available, input);
    if (granted === 0n) return { granted, available, lease: undefined };
    // The foreign key of the table.
    if (!this.#replicas.has(replicaId)) throw Object.assign(new Error('no such replica'), { code: '23503' });
    const lease = wallet.leases.get(replicaId);
    const next = { nanos: (lease?.nanos ?? 0n) + granted, version: (lease?.version ?? 0n) + 1n };
    wallet.leases.set(replicaId, { ...next, isWanted: lease?.isWanted ?? false });
    wallet.held += granted;
    this.#check(userId);
    return { granted, available, lease: { replicaId, userId, ...next } };
  }

  giveBack({ userId, replicaId, nanos, version }: ReturnInput): LeaseState | undefined {
    const wallet = this.#wallet(userId);
    const lease = wallet.leases.get(replicaId);
    if (!lease || (version !== undefined && lease.version !== version)) return undefined;
    lease.nanos -= nanos;
    lease.version += 1n;
    lease.isWanted = false;
    this.#wanted.get(replicaId)?.delete(userId);
    wallet.held -= nanos;
    this.#check(userId);
    return { replicaId, userId, nanos: lease.nanos, version: lease.version };
  }

  ask({ userId, replicaId, missing, isFirst }: AskInput): bigint {
    const others = [...this.#wallet(userId).leases].filter(([id, { nanos, isWanted }]) => {
      const row = this.#replicas.get(id);
      const isAlive = row && !row.isFenced && row.seenAt > this.#now() - TRUST_MS;
      return id !== replicaId && nanos > 0n && isAlive && (isFirst || isWanted);
    });
    const total = others.reduce((sum, [, { nanos }]) => sum + nanos, 0n);
    if (total < missing) return 0n;
    for (const [id, lease] of others) {
      lease.isWanted = true;
      const users = this.#wanted.get(id) ?? new Set();
      this.#wanted.set(id, users.add(userId));
    }
    return total;
  }

  wanted(replicaId: string): string[] {
    return [...(this.#wanted.get(replicaId) ?? [])];
  }

  // ---------------------------------------------------------------- charges

  /** Charges the records that are new, and returns the leases of the replica on their wallets. */
  charge(replicaId: string, records: readonly UsageRecord[]): LeaseState[] {
    const fresh = records.filter(({ id }) => !this.#recorded.has(id));
    const sums = new Map<string, bigint>();
    for (const { id, userId, charge } of fresh) {
      this.#recorded.add(id);
      sums.set(userId, (sums.get(userId) ?? 0n) + charge);
    }
    for (const [userId, sum] of sums) this.#draw(userId, replicaId, sum);
    return [...new Set(records.map(({ userId }) => userId))].flatMap((userId) => {
      const lease = this.#wallet(userId).leases.get(replicaId);
      return lease ? [{ replicaId, userId, nanos: lease.nanos, version: lease.version }] : [];
    });
  }

  #draw(userId: string, replicaId: string, sum: bigint): void {
    if (sum === 0n) return;
    const wallet = this.#wallet(userId);
    const lease = wallet.leases.get(replicaId);
    const drawn = lease && lease.nanos < sum ? lease.nanos : lease ? sum : 0n;
    if (lease) {
      lease.nanos -= drawn;
      lease.version += 1n;
    }
    wallet.debits += sum;
    wallet.held -= drawn;
    wallet.overdraft += sum - drawn;
    this.#check(userId);
  }

  // ---------------------------------------------------------------- replicas

  register(id: string): void {
    this.#replicas.set(id, { seenAt: this.#now(), isFenced: false });
  }

  /** False when the replica must continue under a new id. */
  heartbeat(id: string): boolean {
    const row = this.#replicas.get(id);
    if (!row || row.isFenced) return false;
    row.seenAt = this.#now();
    return true;
  }

  /** Whether the replica is fenced from now on. */
  fenceIfStale(id: string): boolean {
    const row = this.#replicas.get(id);
    if (row && row.seenAt < this.#now() - REPLICA_LIFETIME_MS) row.isFenced = true;
    return row?.isFenced ?? true;
  }

  remove(id: string): void {
    for (const [userId, wallet] of this.wallets) {
      const lease = wallet.leases.get(id);
      if (!lease) continue;
      wallet.leases.delete(id);
      wallet.held -= lease.nanos;
      this.#check(userId);
    }
    this.#replicas.delete(id);
    this.#wanted.delete(id);
  }

  #wallet(userId: string): Wallet {
    return this.wallets.get(userId) ?? assert.fail(`no wallet ${userId}`);
  }

  /** `held` is the sum of the leases, and only an overdraft takes a wallet below zero. */
  #check(userId: string): void {
    const { credits, debits, held, overdraft, leases } = this.wallets.get(userId) ?? assert.fail();
    let sum = 0n;
    for (const { nanos } of leases.values()) {
      assert.ok(nanos >= 0n, 'a lease is negative');
      sum += nanos;
    }
    assert.equal(held, sum, 'held is not the sum of the leases');
    assert.ok(credits - debits - held + overdraft >= 0n, 'leases exceed the wallet');
  }
}
