import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionLimits, defaultConnections } from './connection-limits.ts';

test('the default limit of connections leaves as many descriptors for providers, and a reserve', () => {
  for (const [openFiles, connections] of [
    [1_024, 384],
    [4_096, 1_920],
    [1_048_576, 10_000],
    [100, 16],
    [undefined, 1_920],
  ] as const)
    assert.equal(defaultConnections(openFiles), connections, String(openFiles));
});

test('one address gets half of the connections by default, trusted proxies any number', () => {
  const limits = connectionLimits({ total: 101, perAddress: undefined }, ['10.0.0.0/8']);
  assert.deepEqual([limits.total, limits.perAddress], [101, 51]);
  assert.deepEqual([limits.isExempt('::ffff:10.1.2.3'), limits.isExempt('192.0.2.1')], [true, false]);
  assert.ok(connectionLimits({ total: undefined, perAddress: undefined }, []).total >= 16);
});
