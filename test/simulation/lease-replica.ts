/**
 * One process of the lease simulation: the real `WalletLeases`, with heartbeats, a journal and flushes around it. It can crash, stop for a
 * while as a virtual machine does, or lose the database.
 */
import { type Clock, silentLog } from '../../src/core/index.ts';
import { wishUntilHeld } from '../../src/ledger/admission/covered-hold.ts';
import type { LeaseStore } from '../../src/ledger/admission/lease-queries.ts';
import { WalletLeases } from '../../src/ledger/admission/wallet-leases.ts';
import { InsufficientBalance, type Reservation } from '../../src/ledger/admission/wallet-state.ts';
import { RETURN_WANTED_MS } from '../../src/ledger/admission/wishes.ts';
import { HEARTBEAT_INTERVAL_MS, TRUST_MS } from '../../src/ledger/records/replica.ts';
import type { UsageRecord } from '../../src/ledger/usage-record.ts';
import type { SimulatedLedger } from './lease-ledger.ts';
import type { VirtualClock } from './virtual-clock.ts';

export interface ReplicaWorld {
  readonly clock: VirtualClock;
  readonly ledger: SimulatedLedger;
  /** In [0, 1). */
  readonly random: () => number;
  /** Share of statements whose result is lost, although the ledger has run them. */
  readonly lostResults: number;
  /** Statements by kind. */
  readonly statements: Map<StatementKind, number>;
  /** How long the next statement of a replica takes, between one and six milliseconds by default, and how late its next timer is. */
  readonly statementMs?: (replica: string) => number;
  readonly lagMs?: () => number;
}

export type StatementKind = 'take' | 'return' | 'wish' | 'withdraw' | 'wanted' | 'hold' | 'charge' | 'heartbeat';

const FLUSH_MS = 1_000;
const LOW_FLUSH_MS = 200;
const RETURN_IDLE_MS = 1_000;
/** A lost database is noticed after three seconds. */
const STATEMENT_MS = { min: 1, spread: 5, timeout: 3_000 };

export class SimulatedReplica {
  readonly #world: ReplicaWorld;
  readonly #leases: WalletLeases;
  #flushing: Promise<void> | undefined;
  #beating: Promise<void> | undefined;
  /** Records on its disk, which outlive the process. */
  readonly journal: UsageRecord[] = [];
  /** The newest last: a fenced process continues under a new one. */
  readonly ids: string[] = [];
  #seenAt = 0;
  #isDead = false;
  #isFlushingSoon = false;
  #frozenUntil = 0;
  #cutUntil = 0;
  /** How often it had to continue under a new id. */
  fenced = 0;

  readonly #name: string;

  constructor(world: ReplicaWorld, name: string) {
    this.#world = world;
    this.#name = name;
    this.#newId();
    const self = this;
    this.#leases = new WalletLeases({
      store: this.#store(),
      replica: {
        get id() {
          return self.id;
        },
        get isTrusted() {
          return world.clock.elapsed() - self.#seenAt < TRUST_MS;
        },
        heartbeat: () => this.#heartbeat(),
      },
      append: (record, isLow) => this.#append(record, isLow),
      clock: this.#clock(),
      log: silentLog,
    });
    this.#every(HEARTBEAT_INTERVAL_MS, () => this.#heartbeat());
    this.#every(RETURN_IDLE_MS, () => this.#leases.returnIdle());
    this.#every(RETURN_WANTED_MS, () => this.#leases.returnWanted());
    this.#every(FLUSH_MS, () => this.#flush());
  }

  get id(): string {
    return this.ids.at(-1) ?? '';
  }

  /** A load balancer sends it calls. */
  get isServing(): boolean {
    return !this.#isDead && this.#world.clock.elapsed() >= this.#frozenUntil;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  async admit(userId: string, maxCost: bigint): Promise<Reservation> {
    return this.#leases.admit(userId, maxCost);
  }

  /** Holds, as the creation of a video task does. */
  hold(userId: string, nanos: bigint, reference: string): Promise<'held'> {
    const refusal = (available: bigint) => new InsufficientBalance(available);
    return wishUntilHeld({ store: this.#store(), clock: this.#clock() }, { userId, nanos, reference, refusal }, () =>
      this.#statement('hold', () => this.#world.ledger.hold(userId, nanos, reference)),
    );
  }

  /** Runs the task of a call unless the process has died; later when it is frozen. */
  after(ms: number, task: () => void): void {
    this.#clock().after(ms, task);
  }

  crash(): void {
    this.#isDead = true;
  }

  freeze(ms: number): void {
    this.#frozenUntil = this.#world.clock.elapsed() + ms;
  }

  loseDatabase(ms: number): void {
    this.#cutUntil = this.#world.clock.elapsed() + ms;
  }

  #newId(): void {
    this.ids.push(`${this.#name}.${this.ids.length}`);
    this.#world.ledger.register(this.id);
    this.#seenAt = this.#world.clock.elapsed();
  }

  /** Timers and results reach the process only while it runs. */
  #clock(): Clock {
    const { clock, lagMs = () => 0 } = this.#world;
    return {
      now: () => clock.now(),
      elapsed: () => clock.elapsed(),
      after: (ms, task) => this.#onResult(ms + lagMs(), task),
    };
  }

  #onResult(ms: number, task: () => void): () => void {
    const { clock } = this.#world;
    const run = (): void => {
      if (this.#isDead) return;
      const waitMs = this.#frozenUntil - clock.elapsed();
      if (waitMs > 0) clock.after(waitMs, run);
      else task();
    };
    return clock.after(ms, run);
  }

  #store(): LeaseStore {
    const { ledger } = this.#world;
    return {
      take: (input) => this.#statement('take', () => ledger.take(input)),
      giveBack: (input) => this.#statement('return', () => ledger.giveBack(input)),
      wish: (input) => this.#statement('wish', () => ledger.wish(input)),
      withdraw: (wish) => this.#statement('withdraw', () => ledger.withdraw(wish)),
      wanted: (replicaId) => this.#statement('wanted', () => ledger.wanted(replicaId)),
    };
  }

  #statement<T>(kind: StatementKind, run: () => T): Promise<T> {
    const { clock, random, lostResults, statements, statementMs } = this.#world;
    statements.set(kind, (statements.get(kind) ?? 0) + 1);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const wholeMs = statementMs?.(this.#name) ?? STATEMENT_MS.min + random() * STATEMENT_MS.spread;
    // It runs at the start, at the end, or anywhere in between.
    const untilRunMs = wholeMs * (statementMs ? random() : 0.5);
    if (clock.elapsed() < this.#cutUntil) {
      this.#onResult(STATEMENT_MS.timeout, () => reject(new Error('the database does not respond')));
      return promise;
    }
    // The ledger runs the statement even if its process dies meanwhile.
    clock.after(untilRunMs, () => {
      try {
        const result = run();
        const isLost = random() < lostResults;
        this.#onResult(wholeMs - untilRunMs, () =>
          isLost ? reject(new Error('the connection broke')) : resolve(result),
        );
      } catch (error) {
        this.#onResult(wholeMs - untilRunMs, () => reject(error));
      }
    });
    return promise;
  }

  /** Single flight, as in the real process: fencing must not be handled twice. */
  #heartbeat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  async #beat(): Promise<void> {
    const { ledger, clock } = this.#world;
    const sentAt = clock.elapsed();
    const isKnown = await this.#statement('heartbeat', () => ledger.heartbeat(this.id));
    if (isKnown) this.#seenAt = sentAt;
    else {
      this.fenced += 1;
      this.#newId();
      this.#leases.onFenced();
    }
  }

  #append(record: UsageRecord, isLow: boolean): void {
    this.journal.push(record);
    if (!isLow || this.#isFlushingSoon) return;
    this.#isFlushingSoon = true;
    this.after(LOW_FLUSH_MS, () => {
      this.#isFlushingSoon = false;
      void this.#flush().catch(() => {});
    });
  }

  #flush(): Promise<void> {
    this.#flushing ??= this.#flushOnce().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #flushOnce(): Promise<void> {
    const batch = [...this.journal];
    if (batch.length === 0) return;
    const { id } = this;
    const leases = await this.#statement('charge', () => this.#world.ledger.charge(id, batch));
    this.journal.splice(0, batch.length);
    this.#leases.onFlushed(batch, leases);
  }

  #every(ms: number, task: () => Promise<unknown>): void {
    const next = async (): Promise<void> => {
      await task().catch(() => {});
      this.after(ms, () => void next());
    };
    // Not all processes in the same millisecond.
    this.after(ms * this.#world.random(), () => void next());
  }
}
