import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTEXT } from '../../../../test/support/dialects/generate.ts';
import { ApiError } from '../../../core/index.ts';
import { decodeReply } from './stream-decoder.ts';

test('generate reply decoder ignores all but the first candidate', () => {
  const candidate = (text: string, index: number) => ({
    content: { parts: [{ text }], role: 'model' },
    finishReason: 'STOP',
    index,
  });
  const reply = decodeReply({ candidates: [candidate('two', 1), candidate('one', 0)] }, CONTEXT);
  assert.deepEqual(reply.items, [{ kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'one' }] }]);
});

test('generate reply decoder counts each search query on current models and one search on older ones', () => {
  const body = (modelVersion: string) => ({
    modelVersion,
    candidates: [{ content: { parts: [{ text: 'x' }] }, groundingMetadata: { webSearchQueries: ['a', 'b', ''] } }],
  });
  assert.equal(decodeReply(body('gemini-3-pro'), CONTEXT).usage.searches, 2);
  assert.equal(decodeReply(body('gemini-2.5-flash'), CONTEXT).usage.searches, 1);
});

test('generate reply decoder throws for an error body and for a body without candidates', () => {
  const code = (expected: string) => (error: unknown) => error instanceof ApiError && error.code === expected;
  assert.throws(
    () => decodeReply({ error: { code: 503, status: 'UNAVAILABLE' } }, CONTEXT),
    code('server_is_overloaded'),
  );
  for (const body of [undefined, null, 'text', [], {}, { usageMetadata: { promptTokenCount: 3 } }]) {
    assert.throws(() => decodeReply(body, CONTEXT), code('upstream_error'));
  }
});
