/**
 * The ledger of the lease simulation: wallets, leases and replicas in memory, with the effect of the statements in src/ledger. Each statement is
 * one moment, as a transaction is. Checks after every statement that leases and wallets agree.
 */
import assert from 'node:assert/strict';
import {
  grantOf,
  type LeaseTake,
  type ReturnInput,
  type TakeInput,
  type WantedLease,
} from '../../src/ledger/admission/lease-queries.ts';
import type { Outlook, WishInput } from '../../src/ledger/admission/wishes.ts';
import { REPLICA_LIFETIME_MS, SILENT_MS } from '../../src/ledger/records/replica.ts';
import type { LeaseState } from '../../src/ledger/records/usage-writer.ts';
import type { UsageRecord } from '../../src/ledger/usage-record.ts';
import { CLAIM_MS } from '../../src/ledger/wallets/claims.ts';

export interface Wallet {
  readonly credits: bigint;
  debits: bigint;
  held: bigint;
  /** Charged beyond the leases. */
  overdraft: bigint;
  readonly leases: Map<string, Lease>;
  /** By the owner. */
  readonly wishes: Map<string, Wish>;
  /** Set aside by holds. */
  holds: bigint;
}

interface Lease {
  nanos: bigint;
  version: bigint;
  isWanted: boolean;
  answered: bigint;
}

interface Wish {
  readonly id: bigint;
  readonly seenAt: number;
  readonly nanos: bigint;
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
  #wishes = 0n;

  constructor(now: () => number) {
    this.#now = now;
  }

  addWallet(userId: string, credits: bigint): void {
    this.wallets.set(userId, {
      credits,
      debits: 0n,
      held: 0n,
      overdraft: 0n,
      leases: new Map(),
      wishes: new Map(),
      holds: 0n,
    });
  }

  // ---------------------------------------------------------------- leases

  take(input: TakeInput): LeaseTake {
    const { userId, replicaId } = input;
    const wallet = this.#wallet(userId);
    const available = availableIn(wallet);
    const newest = this.#newest(wallet, replicaId);
    const unclaimed = available - this.#claimsBefore(wallet, replicaId);
    const granted = newest === undefined ? grantOf(available, input) : grantOfNeed(unclaimed, input.needs);
    if (granted <= 0n) return { granted, lease: undefined, newest };
    // The foreign key of the table.
    if (!this.#replicas.has(replicaId)) throw Object.assign(new Error('no such replica'), { code: '23503' });
    const lease = wallet.leases.get(replicaId) ?? { nanos: 0n, version: 0n, isWanted: false, answered: 0n };
    lease.nanos += granted;
    lease.version += 1n;
    wallet.leases.set(replicaId, lease);
    wallet.held += granted;
    wallet.wishes.delete(replicaId);
    this.#check(userId);
    const { nanos, version } = lease;
    return { granted, lease: { replicaId, userId, nanos, version }, newest };
  }

  giveBack({ userId, replicaId, nanos, version, answer }: ReturnInput): LeaseState | undefined {
    const wallet = this.#wallet(userId);
    const lease = wallet.leases.get(replicaId);
    if (!lease || (version !== undefined && lease.version !== version)) return undefined;
    lease.nanos -= nanos;
    lease.version += 1n;
    if (answer !== undefined) {
      lease.isWanted = false;
      if (answer > lease.answered) lease.answered = answer;
      this.#wanted.get(replicaId)?.delete(userId);
    }
    wallet.held -= nanos;
    this.#check(userId);
    return { replicaId, userId, nanos: lease.nanos, version: lease.version };
  }

  wish({ userId, owner, nanos, unused = 0n, isNew }: WishInput): Outlook {
    const wallet = this.#wallet(userId);
    const available = availableIn(wallet);
    const known = isNew ? undefined : wallet.wishes.get(owner);
    const holders = [...wallet.leases].filter(
      ([id, lease]) => id !== owner && lease.nanos > 0n && !(known && known.id <= lease.answered) && this.#isAlive(id),
    );
    const payable = holders.reduce((sum, [, lease]) => sum + lease.nanos, available);
    const isPayable = nanos - unused <= payable;
    const newest = this.#newest(wallet, owner);
    const isReady = nanos - unused <= available - this.#claimsBefore(wallet, owner);
    if (!isPayable) wallet.wishes.delete(owner);
    else {
      const id = known?.id ?? ++this.#wishes;
      wallet.wishes.set(owner, { id, seenAt: this.#now(), nanos });
      for (const [id, lease] of holders) this.#want(userId, id, lease);
    }
    return { available, payable, isPayable, isReady, isFull: false, newest };
  }

  withdraw({ userId, owner }: Pick<WishInput, 'userId' | 'owner'>): void {
    this.#wallet(userId).wishes.delete(owner);
  }

  wanted(replicaId: string): WantedLease[] {
    return [...(this.#wanted.get(replicaId) ?? [])].map((userId) => {
      const ids = [...this.#wallet(userId).wishes.values()].map(({ id }) => id);
      return { userId, newest: ids.reduce((max, id) => (id > max ? id : max), 0n) };
    });
  }

  /** Asks all replicas, as one of an earlier version does. */
  wantAll(userId: string): void {
    for (const [id, lease] of this.#wallet(userId).leases) this.#want(userId, id, lease);
  }

  hold(userId: string, nanos: bigint, reference: string): 'held' | 'short' {
    const wallet = this.#wallet(userId);
    if (availableIn(wallet) - this.#claimsBefore(wallet, reference) < nanos) return 'short';
    wallet.held += nanos;
    wallet.holds += nanos;
    wallet.wishes.delete(reference);
    this.#check(userId);
    return 'held';
  }

  #want(userId: string, replicaId: string, lease: Lease): void {
    lease.isWanted = true;
    const users = this.#wanted.get(replicaId) ?? new Set();
    this.#wanted.set(replicaId, users.add(userId));
  }

  #isAlive(replicaId: string): boolean {
    const row = this.#replicas.get(replicaId);
    return row !== undefined && !row.isFenced && row.seenAt > this.#now() - SILENT_MS;
  }

  #newest({ wishes }: Wallet, owner: string): bigint | undefined {
    const others = [...wishes].filter(([id, { seenAt }]) => id !== owner && seenAt > this.#now() - CLAIM_MS);
    return others.reduce<bigint | undefined>(
      (max, [, { id }]) => (max === undefined || id > max ? id : max),
      undefined,
    );
  }

  #claimsBefore({ wishes }: Wallet, owner: string): bigint {
    const own = wishes.get(owner)?.id;
    return [...wishes].reduce((sum, [id, wish]) => {
      const isBefore = id !== owner && (own === undefined || wish.id < own) && wish.seenAt > this.#now() - CLAIM_MS;
      return isBefore ? sum + wish.nanos : sum;
    }, 0n);
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

  /** `held` is the sum of holds and leases, and only an overdraft takes a wallet below zero. */
  #check(userId: string): void {
    const { credits, debits, held, overdraft, leases, holds } = this.#wallet(userId);
    let sum = holds;
    for (const { nanos } of leases.values()) {
      assert.ok(nanos >= 0n, 'a lease is negative');
      sum += nanos;
    }
    assert.equal(held, sum, 'held is not the sum of the holds and leases');
    assert.ok(credits - debits - held + overdraft >= 0n, 'leases exceed the wallet');
  }
}

const availableIn = ({ credits, debits, held }: Wallet): bigint => credits - debits - held;

/** Nothing ahead of need, because somebody else wishes for money of the wallet. */
const grantOfNeed = (available: bigint, needs: readonly bigint[]): bigint =>
  needs.reduce((top, need) => (need <= available && need > top ? need : top), 0n);
