import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageText, durationText } from './time.ts';

test('durationText never shows sixty seconds', () => {
  const shown = [9.96, 640, 59_990, 59_996, 119_600, 119_400].map(durationText);
  assert.deepEqual(shown, ['10.0 ms', '640 ms', '59.99 s', '1 min 0 s', '2 min 0 s', '1 min 59 s']);
});

test('ageText has no fractions', () => {
  assert.deepEqual([55_000, 180_000].map(ageText), ['55 s', '3 min']);
});
