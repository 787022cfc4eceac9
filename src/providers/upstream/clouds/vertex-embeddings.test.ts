import assert from 'node:assert/strict';
import { test } from 'node:test';
import { embeddingReply } from './vertex-embeddings.ts';

/** What a client of the Gemini API reads when Vertex AI responds with this body. */
function replyTo(body: string): string {
  let text = '';
  const listener = embeddingReply(
    {
      onHead() {},
      onData(chunk) {
        text += chunk.toString();
        return true;
      },
      onEnd() {},
      onError() {},
    },
    'embedContent',
  );
  listener.onHead(200, {});
  listener.onData(Buffer.from(body));
  listener.onEnd();
  return text;
}

test('tokens that the provider does not count are not reported as none', () => {
  const embeddings = { values: [0.5], statistics: { token_count: 3 } };
  assert.deepEqual(JSON.parse(replyTo(JSON.stringify({ predictions: [{ embeddings }] }))), {
    embedding: { values: [0.5] },
    usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 },
  });
  assert.deepEqual(JSON.parse(replyTo(JSON.stringify({ predictions: [{ embeddings: { values: [0.5] } }] }))), {
    embedding: { values: [0.5] },
  });
});

test('a body without predictions passes unchanged, and never becomes a reply without vectors', () => {
  for (const body of ['{"predictions":[{"embeddings":{"val', '<html>', '{"error":{}}'])
    assert.equal(replyTo(body), body);
});
