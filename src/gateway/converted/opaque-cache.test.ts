import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import type { OpaqueForCall } from '../../dialects/index.ts';
import { OpaqueCache } from './opaque-cache.ts';

const HOUR = 3_600_000;

function tableAt(): { table: OpaqueCache; pass: (ms: number) => void } {
  const clock = new FakeClock();
  return { table: new OpaqueCache(clock), pass: (ms) => clock.advance(ms) };
}

const value = (chars = 10): OpaqueForCall => ({
  beforeText: [],
  beforeCall: [],
  signature: { issuer: 'messages', kind: 'thinking', data: 'x'.repeat(chars) },
});
const keep = ({ table }: ReturnType<typeof tableAt>, id: string, chars?: number): void =>
  table.put('key', new Map([[id, value(chars)]]));

test('opaque cache keeps the values of keys apart', () => {
  const kept = tableAt();
  keep(kept, 'call_1');
  assert.deepEqual(kept.table.get('key', 'call_1'), value());
  assert.equal(kept.table.get('other', 'call_1'), undefined);
});

test('opaque cache expires a value six hours after its last use', () => {
  const kept = tableAt();
  keep(kept, 'idle');
  keep(kept, 'used');
  for (let n = 0; n < 3; n += 1) {
    kept.pass(4 * HOUR);
    assert.ok(kept.table.get('key', 'used'), 'a conversation that lasts all day keeps its beginning');
  }
  assert.equal(kept.table.get('key', 'idle'), undefined);
  kept.pass(6 * HOUR);
  assert.equal(kept.table.get('key', 'used'), undefined);
});

test('opaque cache rejects a value that is too large and evicts the least recently used', () => {
  const kept = tableAt();
  keep(kept, 'huge', 300_000);
  assert.equal(kept.table.get('key', 'huge'), undefined);
  keep(kept, 'first');
  keep(kept, 'second');
  for (let n = 0; n < 400; n += 1) {
    keep(kept, `large_${n}`, 250_000);
    assert.ok(kept.table.get('key', 'first'));
  }
  assert.equal(kept.table.get('key', 'second'), undefined);
  assert.ok(kept.table.get('key', 'large_399'));
  assert.equal(kept.table.get('key', 'large_0'), undefined);
});
