import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OutputBounds, outputBoundsOf } from './output-bounds.ts';

const boundsOf = (request: Readonly<Record<string, unknown>>): Partial<OutputBounds> => {
  const { maxOutput, choices } = outputBoundsOf('chat.create', (name) => request[name]);
  return { maxOutput, choices };
};

test('a limit of zero or less is none, because servers read it as unlimited', () => {
  for (const limit of [0, -1]) assert.equal(boundsOf({ max_tokens: limit }).maxOutput, undefined);
  assert.equal(boundsOf({ max_tokens: 1 }).maxOutput, 1);
});

test('a part of a choice counts as a whole one, and none as one', () => {
  assert.equal(boundsOf({ n: 2.1 }).choices, 3);
  for (const n of [undefined, null, 0, -5]) assert.equal(boundsOf({ n }).choices, 1);
});
