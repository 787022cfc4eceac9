/** The short form of `npm run bench -- leases`. The simulation itself checks after every statement that leases and wallets agree. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeaseSimulation, type LeaseSimulationOptions } from './lease-simulation.ts';

const SHORT: LeaseSimulationOptions = { replicas: 8, wallets: 2, minutes: 1, rate: 30, failures: 5, seed: 1 };

test('replicas that crash, pause and lose the database never overspend, and every charge arrives once', async () => {
  const { overspent, failures, calls, sizes } = await new LeaseSimulation(SHORT).run();
  assert.equal(overspent, 0);
  assert.ok(calls > 500 && failures.crashes > 0 && failures.pauses > 0 && failures.cuts > 0, JSON.stringify(failures));
  const rejected = Object.values(sizes).reduce((sum, one) => sum + one.wronglyRejected, 0);
  assert.ok(rejected < calls / 10, `${rejected} of ${calls} calls were rejected for money that was leased elsewhere`);
});

test('without failures nothing is charged beyond the leases, and few calls wait', async () => {
  const { overspent, overdraft, unavailable, waits } = await new LeaseSimulation({ ...SHORT, failures: 0 }).run();
  assert.deepEqual([overspent, overdraft, unavailable], [0, 0n, 0]);
  assert.ok((waits[Math.floor(waits.length * 0.99)] ?? 0) < 300, 'p99 of the wait');
});
