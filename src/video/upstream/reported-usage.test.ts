import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportedTask } from './client.ts';

const usageOf = (usage: unknown) => {
  const { usageTokens, doubtedUsage } = reportedTask({ id: 'cgt-1', status: 'succeeded', usage }) ?? {};
  return [usageTokens, doubtedUsage !== undefined];
};

test('V 8: usage is the reported total, or the completion when there is no total', () => {
  assert.deepEqual(usageOf({ completion_tokens: 10, total_tokens: 12 }), [12, false]);
  assert.deepEqual(usageOf({ completion_tokens: 10 }), [10, false]);
  assert.deepEqual(usageOf({ total_tokens: 1e9 }), [1e9, false]);
});

test('V 8: no usage is reported as none', () => {
  for (const usage of [undefined, null, {}, [], 'none', { total_tokens: null }])
    assert.deepEqual(usageOf(usage), [undefined, false], JSON.stringify(usage));
});

test('V 8: numbers that cannot be usage are never charged, and a valid number beside them neither', () => {
  for (const count of [-1, 0.5, '100', 1e9 + 1, 1e300, Number.NaN, true, [], {}]) {
    assert.deepEqual(usageOf({ total_tokens: count, completion_tokens: count }), [undefined, true], String(count));
    assert.deepEqual(usageOf({ total_tokens: 100, completion_tokens: count }), [undefined, true], String(count));
    assert.deepEqual(usageOf({ total_tokens: count, completion_tokens: 100 }), [undefined, true], String(count));
  }
});

test('V 8: a total below its part and a video of zero tokens are not believed, and the report is kept for the operator', () => {
  const doubt = (usage: object, status = 'succeeded') => reportedTask({ id: 'cgt-1', status, usage })?.doubtedUsage;
  assert.equal(doubt({ completion_tokens: 108_900, total_tokens: 99 }), 'completion_tokens 108900, total_tokens 99');
  assert.equal(doubt({ completion_tokens: 0, total_tokens: 0 }), 'completion_tokens 0, total_tokens 0');
  assert.equal(doubt({ total_tokens: 0 }), 'completion_tokens missing, total_tokens 0');
  assert.equal(doubt({ completion_tokens: 0, total_tokens: 0 }, 'running'), undefined, 'nothing is made yet');
  assert.equal(
    doubt({ total_tokens: 'x'.repeat(1_000) })?.length,
    'completion_tokens missing, total_tokens '.length + 40,
  );
});
