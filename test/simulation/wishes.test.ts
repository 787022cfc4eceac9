/**
 * Callers on several replicas that need money which idles in leases of the others, on databases of any speed: statements and timers take generated
 * times, below the limit of a statement. Time is virtual.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../../src/core/index.ts';
import type { Reservation } from '../../src/ledger/admission/wallet-state.ts';
import { WISH_MS } from '../../src/ledger/admission/wishes.ts';
import { runs } from '../support/properties.ts';
import { seededRandom } from '../support/random.ts';
import { SimulatedLedger } from './lease-ledger.ts';
import { SimulatedReplica } from './lease-replica.ts';
import { VirtualClock } from './virtual-clock.ts';

/** `callMs` of src/platform/db/pool.ts: a statement that takes longer fails. */
const LIMIT_MS = 3_000;
const USER = 'ana';

/** How long each statement of a replica takes. */
interface Speed {
  readonly minMs: number;
  readonly maxMs: number;
}

interface Caller {
  readonly replica: number;
  readonly kind: 'call' | 'hold';
  readonly atMs: number;
  /** What it needs, in tenths of the usual cost. */
  readonly tenths?: number;
}

interface Scene {
  readonly speeds: readonly Speed[];
  readonly lagMs: number;
  /** What idles in the leases of the replicas when the callers come, in tenths of the cost of a call. */
  readonly idle: readonly number[];
  readonly callers: readonly Caller[];
  /** How many callers the wallet pays for, in tenths. */
  readonly tenths: number;
  /** Replicas that die, by the time after the first caller. */
  readonly crashes: readonly { readonly replica: number; readonly atMs: number }[];
  /** Share of statements whose results are lost. */
  readonly lost: number;
  readonly seed: number;
}

const speed: fc.Arbitrary<Speed> = fc.oneof(
  fc.constant({ minMs: 1, maxMs: 6 }),
  fc.constant({ minMs: 0, maxMs: 400 }),
  fc.constant({ minMs: 0, maxMs: LIMIT_MS - 1 }),
  fc.constant({ minMs: LIMIT_MS - 100, maxMs: LIMIT_MS - 1 }),
  fc.nat(LIMIT_MS - 1).map((ms) => ({ minMs: ms, maxMs: ms })),
);

const scenes = (
  sizes: { readonly replicas: number; readonly callers: number; readonly crashes: number },
  tenths: fc.Arbitrary<number>,
): fc.Arbitrary<Scene> => {
  const replica = fc.nat(sizes.replicas - 1);
  return fc.record({
    speeds: fc.oneof(
      fc.array(speed, { minLength: sizes.replicas, maxLength: sizes.replicas }),
      speed.map((one) => Array.from({ length: sizes.replicas }, () => one)),
    ),
    lagMs: fc.constantFrom(0, 20, 500),
    idle: fc.array(fc.nat(12), { minLength: sizes.replicas, maxLength: sizes.replicas }),
    callers: fc.array(
      fc.record({ replica, kind: fc.constantFrom('call', 'hold'), atMs: fc.oneof(fc.constant(0), fc.nat(4_000)) }),
      { minLength: 1, maxLength: sizes.callers },
    ),
    tenths,
    crashes: fc.array(fc.record({ replica, atMs: fc.nat(8_000) }), { maxLength: sizes.crashes }),
    lost: fc.constant(0),
    seed: fc.nat(),
  });
};

type Outcome = 'served' | 'short' | 'unavailable' | 'died';

interface Result {
  readonly caller: Caller;
  readonly outcome: Outcome;
  readonly waited: number;
}

interface Played {
  readonly outcomes: readonly Outcome[];
  readonly waits: readonly number[];
  /** What no call uses, without the leases of replicas that died. */
  readonly reachable: bigint;
  /** The caller whose wish was the first, if nobody had taken money before it. */
  readonly first: number | undefined;
}

const COST = 1_000n;
const TENTH = COST / 10n;
/** Less than any caller of `queues` needs. */
const MOST_IDLE = 7n * TENTH;
const AMPLE_MS = 20 * WISH_MS;
/** A replica remembers for 200 ms that the balance was short, and others have released money since. */
const FORGOTTEN_MS = 201;

class Play {
  readonly #clock = new VirtualClock();
  readonly #ledger = new SimulatedLedger(() => this.#clock.elapsed());
  readonly #scene: Scene;
  readonly #replicas: readonly SimulatedReplica[];
  readonly #crashed = new Set<number>();
  /** The owners of the wishes, or undefined when money had been taken before, in their order. */
  readonly #wished: (string | undefined)[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
    const next = seededRandom(scene.seed);
    const random = (): number => next() / 2 ** 32;
    const world = {
      clock: this.#clock,
      ledger: this.#ledger,
      random,
      lostResults: scene.lost,
      statements: new Map(),
      statementMs: (name: string) => {
        const { minMs, maxMs } = scene.speeds[Number(name)] ?? assert.fail();
        return minMs + random() * (maxMs - minMs);
      },
      lagMs: () => random() * scene.lagMs,
    };
    this.#ledger.addWallet(USER, BigInt(scene.tenths) * TENTH);
    this.#replicas = scene.speeds.map((_, n) => new SimulatedReplica(world, String(n)));
    const wish = this.#ledger.wish.bind(this.#ledger);
    this.#ledger.wish = (input) => {
      const { holds, leases } = this.#ledger.wallets.get(USER) ?? assert.fail();
      const isUntouched = holds === 0n && [...leases.values()].every(({ nanos }) => nanos <= MOST_IDLE);
      const outlook = wish(input);
      if (outlook.isPayable) this.#wished.push(isUntouched ? input.owner : undefined);
      return outlook;
    };
  }

  async run(): Promise<Played> {
    const small = await this.#finish(Promise.all(this.#scene.idle.map((tenths, n) => this.#lease(n, tenths))));
    await this.#finish(this.#pass(FORGOTTEN_MS));
    // All at once, because a replica soon returns what idles.
    for (const reservation of small.flat()) reservation.release();
    for (const { replica, atMs } of this.#scene.crashes)
      this.#clock.after(atMs, () => {
        this.#crashed.add(replica);
        this.#replicas[replica]?.crash();
      });
    this.#wished.length = 0;
    const results = await this.#finish(Promise.all(this.#scene.callers.map((caller, n) => this.#call(caller, n))));
    const { credits, held, leases } = this.#ledger.wallets.get(USER) ?? assert.fail();
    const served = results.filter(({ outcome }) => outcome === 'served');
    assert.ok(sumOf(served) <= credits, 'more than the wallet holds');
    const isAlive = (replica: number): boolean => !this.#crashed.has(replica);
    const leased = this.#scene.speeds.map((_, n) => (isAlive(n) ? (leases.get(`${n}.0`)?.nanos ?? 0n) : 0n));
    const inUse = served.filter(({ caller }) => caller.kind === 'call' && isAlive(caller.replica));
    const [owner] = this.#wished;
    const first = this.#scene.callers.findIndex(
      ({ kind, replica }, n) => owner === (kind === 'call' ? `${replica}.0` : holdOf(n)),
    );
    return {
      outcomes: results.map(({ outcome }) => outcome),
      waits: results.map(({ waited }) => waited),
      reachable: leased.reduce((sum, nanos) => sum + nanos, credits - held) - sumOf(inUse),
      first: first < 0 ? undefined : first,
    };
  }

  /** Small calls, as many of them as the wallet pays for. */
  async #lease(replica: number, tenths: number): Promise<Reservation[]> {
    const calls = Array.from({ length: tenths }, () => this.#at(replica).admit(USER, TENTH));
    return (await Promise.allSettled(calls)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  }

  /** The call goes on for longer than the scene, so that its money stays in use. */
  async #call(caller: Caller, n: number): Promise<Result> {
    const { replica, kind, atMs } = caller;
    const cost = costOf(caller);
    await this.#pass(atMs);
    const begun = this.#clock.elapsed();
    const asked = kind === 'call' ? this.#at(replica).admit(USER, cost) : this.#at(replica).hold(USER, cost, holdOf(n));
    const outcome = await Promise.race([asked.then(() => 'served' as const, outcomeOf), this.#death(replica)]);
    return { caller, outcome, waited: this.#clock.elapsed() - begun };
  }

  async #death(replica: number): Promise<'died'> {
    while (!this.#crashed.has(replica)) await this.#pass(1_000);
    return 'died';
  }

  #at(replica: number): SimulatedReplica {
    return this.#replicas[replica] ?? assert.fail();
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }

  async #finish<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    work.then(over, over);
    while (!isOver && this.#clock.elapsed() < AMPLE_MS) await this.#clock.runUntil(this.#clock.elapsed() + 250);
    assert.ok(isOver, 'somebody waits for ever');
    return work;
  }
}

const holdOf = (caller: number): string => `hold:${caller}`;
const costOf = ({ tenths = 10 }: Caller): bigint => BigInt(tenths) * TENTH;
const sumOf = (results: readonly Result[]): bigint => results.reduce((sum, { caller }) => sum + costOf(caller), 0n);

function outcomeOf(error: unknown): Outcome {
  return error instanceof ApiError && error.code === 'insufficient_balance' ? 'short' : 'unavailable';
}

const check = (scene: fc.Arbitrary<Scene>, all: number, holds: (played: Played, scene: Scene) => void): Promise<void> =>
  fc.assert(
    fc.asyncProperty(scene, async (one) => holds(await new Play(one).run(), one)),
    { numRuns: runs(all) },
  );

const countOf = ({ outcomes }: Played, outcome: Outcome): number => outcomes.filter((one) => one === outcome).length;

/** Neither can pay from its own lease and what is left in the wallet. */
const rivals: fc.Arbitrary<Scene> = fc
  .record({
    scene: scenes({ replicas: 2, callers: 1, crashes: 0 }, fc.constantFrom(12, 13, 14)),
    idle: fc.tuple(fc.constantFrom(5, 6), fc.constantFrom(5, 6)),
    kinds: fc.constantFrom<Caller['kind'][]>(['call', 'call'], ['call', 'hold'], ['hold', 'hold']),
    laterMs: fc.oneof(fc.constant(0), fc.nat(700)),
  })
  .map(({ scene, idle, kinds, laterMs }) => ({
    ...scene,
    idle,
    callers: kinds.map((kind, replica) => ({ replica, kind, atMs: replica * laterMs })),
  }));

test('of two replicas that need the leases of each other exactly one is served, however slow the database is', () =>
  check(rivals, 400, ({ outcomes }) => assert.deepEqual([...outcomes].sort(), ['served', 'short'])));

/** All money idles in leases, none of which pays for a caller alone. They need different amounts. */
const queues: fc.Arbitrary<Scene> = fc
  .record({
    scene: scenes({ replicas: 4, callers: 1, crashes: 0 }, fc.constant(0)),
    idle: fc.array(fc.constantFrom(4, 5, 6), { minLength: 4, maxLength: 4 }),
    callers: fc.array(
      fc.record({ kind: fc.constantFrom<Caller['kind']>('call', 'hold'), atMs: fc.nat(700), tenths: fc.nat(8) }),
      { minLength: 4, maxLength: 4 },
    ),
  })
  .map(({ scene, idle, callers }) => ({
    ...scene,
    idle,
    tenths: idle.reduce((sum, one) => sum + one, 0),
    callers: callers.map((caller, replica) => ({ ...caller, replica, tenths: caller.tenths + 8 })),
  }));

test('who wished first is served, whatever the others need', async () => {
  let firsts = 0;
  await check(queues, 400, ({ first, outcomes }) => {
    if (first === undefined) return;
    firsts += 1;
    assert.equal(outcomes[first], 'served', `${first} of ${outcomes}`);
  });
  assert.ok(firsts > runs(400) / 4, `only ${firsts} scenes have a first wish`);
});

test('calls and holds are served as long as the money suffices, wherever it is leased, and the others are short', () =>
  check(scenes({ replicas: 5, callers: 9, crashes: 0 }, fc.nat(70)), 400, (played, { callers, tenths }) => {
    const expected = Math.min(callers.length, Math.floor(tenths / 10));
    assert.deepEqual([countOf(played, 'served'), countOf(played, 'short')], [expected, callers.length - expected]);
    assert.ok(Math.max(...played.waits) < WISH_MS, `waited ${Math.max(...played.waits)} ms`);
  }));

test('replicas that die keep only what they have leased, and nobody waits for them for long', () =>
  check(scenes({ replicas: 4, callers: 7, crashes: 3 }, fc.nat(60)), 400, (played) => {
    // A turn after its time, which is two statements.
    assert.ok(Math.max(...played.waits) < WISH_MS + 4 * LIMIT_MS, `waited ${Math.max(...played.waits)} ms`);
    if (countOf(played, 'short') + countOf(played, 'unavailable') > 0)
      assert.ok(played.reachable < COST, `${played.reachable} could have paid for a call`);
  }));

test('no more callers are short when results of statements are lost, and no money stays in a lease whose grant was lost', () =>
  check(
    scenes({ replicas: 4, callers: 7, crashes: 0 }, fc.nat(60)).map((scene) => ({ ...scene, lost: 0.1 })),
    400,
    (played, { callers, tenths }) => {
      assert.ok(Math.max(...played.waits) < WISH_MS + 4 * LIMIT_MS, `waited ${Math.max(...played.waits)} ms`);
      assert.ok(
        countOf(played, 'short') <= Math.max(0, callers.length - Math.floor(tenths / 10)),
        `${played.outcomes}`,
      );
    },
  ));
