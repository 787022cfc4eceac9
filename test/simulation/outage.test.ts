/** The database away under a steady rate: a replica serves on from its lease, for as long as it may trust it. Time is virtual. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUsageRecord } from '../../src/ledger/usage-record.ts';
import { seededRandom } from '../support/random.ts';
import { SimulatedLedger } from './lease-ledger.ts';
import { SimulatedReplica, type StatementKind } from './lease-replica.ts';
import { VirtualClock } from './virtual-clock.ts';

interface Load {
  /** Calls per second. */
  readonly rate: number;
  readonly maxCost: bigint;
  readonly cost: bigint;
  readonly balance: bigint;
}

const CALL_MS = 2_000;
const BEFORE_MS = 90_000;
const AWAY_MS = 60_000;

interface Outcome {
  /** Admitted per second after the database went away, by second. */
  readonly served: readonly number[];
  /** Statements for leases a second, before. */
  readonly takes: number;
  readonly leased: bigint;
}

/** Calls at a steady rate; after 90 s the database goes away for good. */
async function loseDatabase({ rate, maxCost, cost, balance }: Load): Promise<Outcome> {
  const clock = new VirtualClock();
  const next = seededRandom(1);
  const ledger = new SimulatedLedger(() => clock.elapsed());
  const statements = new Map<StatementKind, number>();
  const world = { clock, ledger, random: () => next() / 2 ** 32, lostResults: 0, statements };
  ledger.addWallet('ana', balance);
  const replica = new SimulatedReplica(world, 'rep');
  const served = Array.from({ length: AWAY_MS / 1_000 }, () => 0);
  let calls = 0;
  const call = (): void => {
    const second = Math.floor((clock.elapsed() - BEFORE_MS) / 1_000);
    calls += 1;
    const id = `use_${calls}`;
    replica.admit('ana', maxCost).then(
      (reservation) => {
        if (second >= 0) served[second] = (served[second] ?? 0) + 1;
        replica.after(CALL_MS, () => reservation.settle(recordOf(id, clock.now(), cost)));
      },
      () => {},
    );
    clock.after(1_000 / rate, call);
  };
  clock.after(0, call);
  await clock.runUntil(BEFORE_MS);
  const takes = (statements.get('take') ?? 0) / (BEFORE_MS / 1_000);
  const leased = ledger.wallets.get('ana')?.held ?? 0n;
  replica.loseDatabase(AWAY_MS * 2);
  await clock.runUntil(BEFORE_MS + AWAY_MS - 1);
  return { served, takes, leased };
}

const recordOf = (id: string, at: number, nanos: bigint) =>
  createUsageRecord({
    id,
    at,
    userId: 'ana',
    keyId: 'k',
    groupId: 'g',
    accountId: 'a',
    model: 'm',
    operation: 'messages.create',
    usage: { input: 1, cacheRead: 0, cacheWrite: 0, output: 1 },
    images: 0,
    nanos,
    priceId: null,
    estimated: false,
    requestId: id,
  });

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
const UNIT = 1_000_000n;

for (const [about, load] of Object.entries({
  'calls that cost half of their reservation': { rate: 20, maxCost: UNIT, cost: UNIT / 2n, balance: 10_000n * UNIT },
  'calls that cost all of it': { rate: 20, maxCost: UNIT, cost: UNIT, balance: 100_000n * UNIT },
  'calls that cost little of it': { rate: 50, maxCost: 40n * UNIT, cost: UNIT, balance: 100_000n * UNIT },
  'a balance of four minutes': { rate: 20, maxCost: UNIT, cost: UNIT / 2n, balance: (90n + 240n) * 10n * UNIT },
} satisfies Record<string, Load>))
  test(`a user keeps the rate of the last minute while the database is away: ${about}`, async (t) => {
    const { served, takes, leased } = await loseDatabase(load);
    // The last heartbeat was at most ten seconds before, and its trust ends after thirty.
    const whole = served.slice(0, 20);
    t.diagnostic(`${sum(served)} calls after the loss, ${takes.toFixed(2)} leases a second before, ${leased} held`);
    assert.equal(sum(whole), 20 * load.rate, String(served));
    assert.ok(sum(served) <= 30 * load.rate, 'not beyond the time that others wait for its heartbeat');
    assert.ok(takes < 2, `${takes} leases a second`);
    assert.ok(leased <= load.balance / 2n, 'others find something too');
  });
