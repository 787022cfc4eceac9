import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeCost } from './budget.ts';

const cost = (units: number, files: readonly number[] = []) => ({
  wallMs: 0,
  cpuMs: units * 1_500,
  runnerMs: 0,
  unitMs: 1_500,
  files: files.map((of, n) => ({ file: `${n}.test.ts`, cpuMs: of * 1_500, wallMs: 0 })),
});

test('judgeCost compares units with the budget of the set, and tolerates what the suite costs today', () => {
  assert.match(judgeCost('quick', cost(239)).text, /239 of 240 units, kept/);
  assert.match(judgeCost('quick', cost(300)).text, /300 of 240 units, exceeded/);
  assert.ok(judgeCost('quick', cost(300)).isKept);
  assert.ok(!judgeCost('quick', cost(400)).isKept);
  assert.ok(judgeCost('all', cost(520)).isKept);
});

test('judgeCost names the files of npm test that are too dear', () => {
  assert.deepEqual(judgeCost('quick', cost(1, [5, 7.25])).text.match(/^\d\.test\.ts: [\d.]+ units/gm), [
    '1.test.ts: 7.3 units',
  ]);
  assert.ok(!judgeCost('all', cost(1, [7])).text.includes('1.test.ts'));
});
