import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readUsage } from './usage.ts';

test('readUsage() reads the tokens of pictures among the completion', () => {
  const usage = readUsage({
    prompt_tokens: 10,
    completion_tokens: 1_300,
    completion_tokens_details: { image_tokens: 1_290 },
  });
  assert.equal(usage?.output, 1_300);
  assert.equal(usage?.outputImage, 1_290);
});

test('readUsage() adds the reasoning that a research model counts beside its completion', () => {
  const counts = { prompt_tokens: 33, completion_tokens: 7_000, total_tokens: 7_033, reasoning_tokens: 190_000 };
  const research = readUsage({ ...counts, citation_tokens: 20_000, num_search_queries: 21 });
  assert.deepEqual([research?.output, research?.reasoning, research?.citations], [197_000, 190_000, 20_000]);
  assert.deepEqual([readUsage(counts)?.output, readUsage(counts)?.reasoning], [7_000, undefined]);
});
