import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inThinkTags, type SplitContent, ThinkTagSplitter } from './think-tags.ts';

function split(chunks: readonly string[]): SplitContent {
  const splitter = new ThinkTagSplitter();
  const parts = [...chunks.map((chunk) => splitter.push(chunk)), splitter.end()];
  return { thought: parts.map(({ thought }) => thought).join(''), text: parts.map(({ text }) => text).join('') };
}

test('ThinkTagSplitter separates reasoning at the beginning of the content', () => {
  assert.deepEqual(split(['<think>\nhm\n</think>\n\nYes.']), { thought: 'hm\n', text: 'Yes.' });
  assert.deepEqual(split([inThinkTags('hm', 'Yes.')]), { thought: 'hm\n', text: 'Yes.' });
  assert.deepEqual(split(['<think>\n\n</think>\n\nYes.']), { thought: '', text: 'Yes.' });
  assert.deepEqual(split(['<think>cut off </thi']), { thought: 'cut off </thi', text: '' });
});

test('ThinkTagSplitter leaves content without leading reasoning as it is', () => {
  for (const text of ['Yes.', '  Yes.', 'Use <think> and </think>.', '<thin', '</think> Yes.', ' \n'])
    assert.deepEqual(split([text]), { thought: '', text });
});

test('ThinkTagSplitter gives the same wherever chunks end', () => {
  const piece = fc.constantFrom('<think>', '</think>', '<', 'think', '>', '\n', ' ', 'a', '</', 'word ');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(60)), (pieces, cuts) => {
      const whole = pieces.join('');
      const points = [...new Set([0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length])].sort(
        (a, b) => a - b,
      );
      const chunks = points.slice(1).map((end, n) => whole.slice(points[n], end));
      assert.deepEqual(split(chunks), split([whole]));
    }),
  );
});
