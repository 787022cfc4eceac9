import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../core/index.ts';
import {
  PRIORITIES,
  type Priority,
  SHED_RETRY_SECONDS,
  SHED_SAMPLE_MS,
  SHED_STEPS,
  SHED_TARGET_SHARE,
  SHED_WINDOW,
  SHEDDING,
} from '../../rules/index.ts';
import { retrySeconds, Shedder } from './shedder.ts';

/** A clock whose timer fires as late as the test says. */
class LateClock implements Clock {
  #elapsed = 0;
  #task: () => void = () => {};
  now = (): number => this.#elapsed;
  elapsed = (): number => this.#elapsed;
  after(_ms: number, task: () => void): () => void {
    this.#task = task;
    return () => {};
  }
  /** Within one turn of the event loop. */
  advance(ms: number): void {
    this.#elapsed += ms;
  }
  samples(count: number, delayMs: number): void {
    for (let n = 0; n < count; n += 1) {
      this.#elapsed += SHED_SAMPLE_MS + delayMs;
      this.#task();
    }
  }
}

const MIB = 2 ** 20;

function open(reservedBytes = 0, endTurn = (): void => {}): { clock: LateClock; shedder: Shedder } {
  const clock = new LateClock();
  return { clock, shedder: new Shedder({ clock, bodyBudget: { reservedBytes, maxBytes: 100 * MIB }, endTurn }) };
}

/** The part of a hundred requests that is admitted. */
const admitted = (shedder: Shedder, priority: Priority): number =>
  Array.from({ length: 100 }, () => shedder.refuses(priority, 0)).filter((isRefused) => !isRefused).length;

test('shedder refuses priorities in their order as the event loop gets later', () => {
  const delays = PRIORITIES.map((priority) => SHEDDING[priority].delayMs);
  assert.deepEqual(
    delays.toSorted((a, b) => a - b),
    delays,
  );
  for (const [n, delayMs] of delays.entries()) {
    const { clock, shedder } = open();
    clock.samples(SHED_WINDOW, delayMs);
    const refused = PRIORITIES.filter((priority) => admitted(shedder, priority) < 100);
    assert.deepEqual(refused, PRIORITIES.slice(0, n + 1));
    assert.equal(admitted(shedder, 'never'), 100);
  }
});

test('shedder ignores single late samples, as of a process that was stopped for a moment', () => {
  const { clock, shedder } = open();
  clock.samples(SHED_WINDOW, 0);
  clock.samples(1, 60_000);
  clock.samples(2, 0);
  clock.samples((SHED_WINDOW >> 1) - 1, 5_000);
  for (const priority of PRIORITIES) assert.equal(admitted(shedder, priority), 100);
});

test('shedder admits less while the loop stays late, never nothing, and all again after it recovered', () => {
  const { clock, shedder } = open();
  const late = SHEDDING.text.delayMs;
  clock.samples(SHED_WINDOW, late);
  const first = admitted(shedder, 'text');
  clock.samples(5, late);
  const second = admitted(shedder, 'text');
  assert.ok(first <= SHED_STEPS.start * 100 + 1 && second < first, `${first}, then ${second}`);
  clock.samples(500, late);
  assert.ok(admitted(shedder, 'text') >= 1);
  clock.samples(200, late * SHED_TARGET_SHARE - 1);
  assert.equal(admitted(shedder, 'text'), 100);
  assert.equal(shedder.refused.get('create'), 0);
});

test('shedder begins within a turn of the event loop that does not end, tries to end it, and stops after it', () => {
  let ended = 0;
  const { clock, shedder } = open(0, () => {
    ended += 1;
  });
  clock.samples(SHED_WINDOW, 0);
  clock.advance(60_000);
  for (const priority of PRIORITIES) assert.equal(admitted(shedder, priority), 100, 'a process that was stopped');
  let refused = 0;
  for (let ms = 0; ms < 1_000; ms += 1) {
    clock.advance(1);
    if (shedder.refuses('text', 0)) refused += 1;
  }
  assert.ok(refused > 500, `${refused} of 1,000`);
  assert.ok(ended > 0 && ended <= 1_000 / SHED_SAMPLE_MS + 1, `ended ${ended} times`);
  clock.samples(200, 0);
  assert.equal(admitted(shedder, 'text'), 100);
});

test('shedder refuses large bodies by priority while the memory of bodies is full, and small ones never', () => {
  const { shedder } = open(70 * MIB);
  assert.equal(shedder.refuses('image', 10 * MIB), true);
  assert.equal(shedder.refuses('text', 10 * MIB), false);
  assert.equal(shedder.refuses('text', 25 * MIB), true);
  assert.equal(shedder.refuses('create', 25 * MIB), false);
  assert.equal(shedder.refuses('text', Number.POSITIVE_INFINITY), false);
  for (const priority of PRIORITIES) assert.equal(shedder.refuses(priority, 1_000), false);
  assert.equal(open().shedder.refuses('list', 99 * MIB), false, 'one body alone has its chance');
});

test('refused clients return at different times', () => {
  const seconds = new Set(Array.from({ length: 500 }, retrySeconds));
  assert.equal(seconds.size, SHED_RETRY_SECONDS.max - SHED_RETRY_SECONDS.min + 1);
  assert.equal(Math.min(...seconds), SHED_RETRY_SECONDS.min);
  assert.equal(Math.max(...seconds), SHED_RETRY_SECONDS.max);
});

test('no text call is refused while the loop is as late as a burst of calls of seconds makes it', () => {
  const { clock, shedder } = open();
  clock.samples(10 * SHED_WINDOW, 1_000);
  assert.equal(admitted(shedder, 'text'), 100);
  assert.ok(admitted(shedder, 'list') < 100);
});

test('a caller with few calls is served while one with many is refused', () => {
  const { clock, shedder } = open();
  clock.samples(SHED_WINDOW, SHEDDING.text.delayMs);
  const refused = { few: 0, many: 0 };
  for (let n = 0; n < 100; n += 1) {
    if (shedder.refuses('text', 0, () => true)) refused.few += 1;
    if (shedder.refuses('text', 0, () => false)) refused.many += 1;
  }
  assert.equal(refused.few, 0);
  assert.ok(refused.many >= 30, String(refused.many));
});
