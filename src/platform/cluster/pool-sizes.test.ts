import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BESIDE_POOLS,
  COMMAND_CONNECTIONS,
  EMBEDDED_CONNECTIONS,
  JOBS,
  MAX_EMBEDDED_WORKERS,
  PRIMARY_CONNECTIONS,
} from '../../rules/index.ts';
import { PRIMARY, poolSizes } from './pool-sizes.ts';

/** The primary keeps the embedded PostgreSQL running, and its own role. */
const LOCKS = 2;

/** Everything that a worker can have open at the same time. */
function openBy(worker: number, workers: number): number {
  const { main, reports, own } = poolSizes({ worker, workers });
  return main + reports + own + BESIDE_POOLS + (worker === 1 ? JOBS.dedicated : 0);
}

test('the workers of a server fit the embedded PostgreSQL, also while a reload replaces any of them', () => {
  const usable = EMBEDDED_CONNECTIONS.total - EMBEDDED_CONNECTIONS.superusers;
  const primary = poolSizes({ worker: PRIMARY, workers: 2 }).main + LOCKS;
  assert.ok(primary <= PRIMARY_CONNECTIONS);
  for (let workers = 2; workers <= MAX_EMBEDDED_WORKERS; workers += 1) {
    const numbers = Array.from({ length: workers }, (_, n) => n + 1);
    const running = numbers.reduce((sum, worker) => sum + openBy(worker, workers), 0);
    for (const replaced of numbers) {
      const open = running + openBy(replaced, workers) + PRIMARY_CONNECTIONS + COMMAND_CONNECTIONS;
      assert.ok(open <= usable, `${workers} workers, reload of ${replaced}: ${open} of ${usable}`);
    }
  }
});

test('few workers have as many connections as a server of one process', () => {
  assert.deepEqual(poolSizes({ worker: 2, workers: 2 }), poolSizes({ worker: 1, workers: 1 }));
});
