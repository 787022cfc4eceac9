import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { IdleHeap } from './idle-heap.ts';

const MIB = 2 ** 20;

function idleHeap() {
  const clock = new FakeClock();
  const heap = { bytes: 50 * MIB, collections: 0, used: () => heap.bytes, collect: () => heap.collections++ };
  return { clock, heap, idle: new IdleHeap({ clock, heap }) };
}

test('garbage of calls is collected once the server has had none for five seconds', () => {
  const { clock, heap, idle } = idleHeap();
  heap.bytes = 250 * MIB;
  idle.pause();
  clock.advance(4_999);
  assert.equal(heap.collections, 0);
  clock.advance(1);
  assert.equal(heap.collections, 1);
});

test('nothing is collected while calls come, or where there is little garbage', () => {
  const { clock, heap, idle } = idleHeap();
  heap.bytes = 250 * MIB;
  idle.pause();
  clock.advance(3_000);
  idle.resume();
  clock.advance(60_000);
  assert.equal(heap.collections, 0);
  heap.bytes = 60 * MIB;
  idle.pause();
  clock.advance(60_000);
  assert.equal(heap.collections, 0);
});

test('what is in use after a collection is no garbage of the next one', () => {
  const { clock, heap, idle } = idleHeap();
  heap.bytes = 250 * MIB;
  idle.pause();
  clock.advance(5_000);
  idle.resume();
  idle.pause();
  clock.advance(5_000);
  assert.equal(heap.collections, 1);
});

test('the heap of this process can be collected', () => {
  const clock = new FakeClock();
  const before = process.memoryUsage().heapUsed;
  const idle = new IdleHeap({ clock });
  let garbage: unknown[] = Array.from({ length: 200 }, () => new Array(100_000).fill('x'));
  assert.ok(process.memoryUsage().heapUsed > before + 100 * MIB, String(garbage.length));
  garbage = [];
  idle.pause();
  clock.advance(5_000);
  assert.ok(process.memoryUsage().heapUsed < before + 50 * MIB);
});
