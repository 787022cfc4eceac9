import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../core/index.ts';
import type { Remembered } from '../../dialects/index.ts';
import { SideTable } from './opaque-cache.ts';

const HOUR = 3_600_000;

function tableAt(): { table: SideTable; pass: (ms: number) => void } {
  const clock = new FakeClock();
  return { table: new SideTable(clock), pass: (ms) => clock.advance(ms) };
}

const value = (chars = 10): Remembered => ({
  ahead: [],
  before: [],
  signature: { home: 'messages', kind: 'thinking', data: 'x'.repeat(chars) },
});
const keep = ({ table }: ReturnType<typeof tableAt>, id: string, chars?: number): void =>
  table.keep('key', new Map([[id, value(chars)]]));

test('what one key kept is not found by another', () => {
  const kept = tableAt();
  keep(kept, 'call_1');
  assert.deepEqual(kept.table.find('key', 'call_1'), value());
  assert.equal(kept.table.find('other', 'call_1'), undefined);
});

test('it is forgotten after six hours in which nobody asked', () => {
  const kept = tableAt();
  keep(kept, 'idle');
  keep(kept, 'used');
  for (let n = 0; n < 3; n += 1) {
    kept.pass(4 * HOUR);
    assert.ok(kept.table.find('key', 'used'), 'a conversation that lasts all day keeps its beginning');
  }
  assert.equal(kept.table.find('key', 'idle'), undefined);
  kept.pass(6 * HOUR);
  assert.equal(kept.table.find('key', 'used'), undefined);
});

test('a value that is too large is not kept, and many large ones push out what was used longest ago', () => {
  const kept = tableAt();
  keep(kept, 'huge', 300_000);
  assert.equal(kept.table.find('key', 'huge'), undefined);
  keep(kept, 'first');
  keep(kept, 'second');
  for (let n = 0; n < 400; n += 1) {
    keep(kept, `large_${n}`, 250_000);
    assert.ok(kept.table.find('key', 'first'));
  }
  assert.equal(kept.table.find('key', 'second'), undefined);
  assert.ok(kept.table.find('key', 'large_399'));
  assert.equal(kept.table.find('key', 'large_0'), undefined);
});
