import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEARTBEAT_INTERVAL_MS, REPLICA_LIFETIME_MS, TRUST_MS } from './replica.ts';

test('a replica stops using its leases long before others may take them, and not after one lost heartbeat', () => {
  assert.ok(TRUST_MS <= REPLICA_LIFETIME_MS / 2, 'half a lifetime for a replica that hangs and a clock that is slow');
  assert.ok(TRUST_MS >= 2 * HEARTBEAT_INTERVAL_MS);
});
