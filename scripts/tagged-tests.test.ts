import assert from 'node:assert/strict';
import { test } from 'node:test';
import { taggedTests } from './tagged-tests.ts';

const flawOf = (source: string): string | undefined => taggedTests(source)[0]?.flaw;

test('taggedTests finds the tags in front of a title, and no others', () => {
  const source =
    "test('[S41 L6] title', () => run());\ntest('title [S1]', () => run());\n// test('[S2] x', () => run());";
  assert.deepEqual(taggedTests(source), [{ tags: ['S41', 'L6'], line: 1 }]);
  assert.deepEqual(taggedTests('slowTest(\n  `[N1] title`, { timeout: 1 },\n  async () => run());')[0]?.tags, ['N1']);
});

test('taggedTests reports a tagged test that proves nothing', () => {
  assert.equal(flawOf("test('[S1] title', () => {});"), 'is empty');
  assert.equal(flawOf("test('[S1] title');"), 'is empty');
  for (const source of [
    "test.skip('[S1] title', () => run());",
    "test.todo('[S1] title', () => run());",
    "test('[S1] title', { skip: !hasRedis }, () => run());",
    "test('[S1] title', (t) => { t.skip(); run(); });",
    "describe('group', { skip }, () => { test('[S1] title', () => run()); });",
  ])
    assert.equal(flawOf(source), 'is skipped or todo', source);
  assert.equal(flawOf("describe('[S1] title', () => run());"), 'is tagged, but is not the title of a test');
});

test('taggedTests accepts a test beside a skipped one', () => {
  const source = "describe('group', () => { test.skip('x', () => run()); test('[S1] title', () => run()); });";
  assert.equal(flawOf(source), undefined);
});
