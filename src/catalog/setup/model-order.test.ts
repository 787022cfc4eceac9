import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Catalog, type ModelLine } from '../index.ts';
import { mergeModelOrder } from './model-order.ts';

test('mergeModelOrder keeps the order of a file for an empty group and for all models named', () => {
  assert.deepEqual(mergeModelOrder([], ['b', 'a', '*']), ['b', 'a', '*']);
  assert.deepEqual(mergeModelOrder(['b', 'a', '*'], ['*', 'a', 'b']), ['*', 'a', 'b']);
});

test('mergeModelOrder leaves models that the file does not name in their places', () => {
  assert.deepEqual(mergeModelOrder(['a-*', 'b-*', '*'], ['*']), ['a-*', 'b-*', '*']);
  assert.deepEqual(mergeModelOrder(['a', 'x', 'b', 'y'], ['b', 'a']), ['b', 'x', 'a', 'y']);
});

test('mergeModelOrder puts a new pattern last unless the file puts it before a known model', () => {
  assert.deepEqual(mergeModelOrder(['x', 'y-1'], ['x', 'y-*']), ['x', 'y-1', 'y-*']);
  assert.deepEqual(mergeModelOrder(['x', 'y-1'], ['y-*', 'y-1']), ['x', 'y-*', 'y-1']);
});

test('mergeModelOrder puts a new name before the pattern that would hide it', () => {
  assert.deepEqual(mergeModelOrder(['a', 'gpt-*', 'z'], ['gpt-5']), ['a', 'gpt-5', 'gpt-*', 'z']);
  assert.deepEqual(mergeModelOrder(['gpt-*'], ['gpt-*', 'gpt-5']), ['gpt-*', 'gpt-5'], 'the file says so');
});

test('new models never change the line of a name that the file does not name', () => {
  const pattern = fc.constantFrom<string>('a', 'b', 'ab', 'a*', 'b*', '*b', '*', 'abc', 'c*');
  const patterns = fc.uniqueArray(pattern, { maxLength: 6 });
  fc.assert(
    fc.property(patterns, patterns, fc.constantFrom('a', 'b', 'ab', 'abc', 'c', 'x'), (stored, given, name) => {
      const added = given.filter((line) => !stored.includes(line));
      fc.pre(!added.includes(name));
      const before = lineOf(stored, name);
      if (before !== undefined) assert.equal(lineOf(mergeModelOrder(stored, added), name), before);
    }),
  );
});

const lineOf = (patterns: readonly string[], name: string): string | undefined => {
  const lines = patterns.map(
    (pattern): ModelLine => ({
      pattern,
      upstream: null,
      overrides: {},
      id: 1n,
      learned: { abilities: {}, tiers: [] },
      context: null,
      maxOutput: null,
      isFree: false,
      fallback: [],
      prices: [],
    }),
  );
  return new Catalog([], [], new Map([['g', lines]])).resolve('g', name)?.line.pattern;
};
