import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantOf } from './lease-queries.ts';

const WALLET = 1_000n;

test('a lease ahead of need takes an eighth of the wallet, and a half for a replica that spends it', () => {
  const ahead = { needs: [], ahead: 10n * WALLET, unit: 1n };
  for (const [recent, granted] of [
    [0n, 125n],
    [300n, 300n],
    // Whatever one replica spends, as much stays for the others.
    [WALLET, 500n],
    [100n * WALLET, 500n],
  ] as const)
    assert.equal(grantOf(WALLET, { ...ahead, recent }), granted, `${recent} spent lately`);
});

test('a lease covers the waiting calls, also with the whole wallet, and takes nothing ahead then', () => {
  const need = { ahead: 10n * WALLET, unit: 1n, recent: 0n };
  assert.equal(grantOf(WALLET, { ...need, needs: [400n, WALLET, 2n * WALLET] }), WALLET, 'the calls that fit');
  assert.equal(grantOf(WALLET, { ...need, needs: [125n] }), 125n);
  assert.equal(grantOf(WALLET, { ...need, needs: [WALLET + 1n] }), 0n);
});
