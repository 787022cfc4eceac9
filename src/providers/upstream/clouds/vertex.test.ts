import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpRequest } from '../../../platform/http/index.ts';
import type { CloudUse } from '../account-url.ts';
import type { CloudServices } from './cloud.ts';
import { vertex } from './vertex.ts';

/** What Vertex AI is sent in place of a request to the Gemini API. */
function sent(model: string, verb: string, body: object): HttpRequest | undefined {
  const account = { id: 'a', baseUrl: 'https://vertex.example', credential: 'key' };
  const use: CloudUse = { account, cloud: { kind: 'vertex', auth: 'api-key' }, style: 'generate-content', model };
  const request: HttpRequest = {
    method: 'POST',
    origin: account.baseUrl,
    path: `/v1beta/models/${model}:${verb}`,
    headers: [],
    body: JSON.stringify(body),
    timeouts: { connect: 1, firstByte: 1, idle: 1, total: 1 },
  };
  return vertex({} as CloudServices, use).prepare(request, use);
}

test('models before Gemini Embedding 2 are asked for predictions, later ones by the method of the Gemini API', () => {
  for (const [model, verb] of [
    ['text-embedding-005', 'predict'],
    ['gemini-embedding-001', 'predict'],
    ['gemini-embedding-2', 'embedContent'],
  ] as const) {
    const request = sent(model, 'embedContent', { content: { parts: [{ text: 'hi' }] } });
    assert.equal(request?.path, `/v1/publishers/google/models/${model}:${verb}`);
  }
});

test('a count of a whole request has its members, without the model that the path names', () => {
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
  for (const name of ['generateContentRequest', 'generate_content_request']) {
    const request = sent('gemini-3', 'countTokens', { [name]: { model: 'models/gemini-3', contents } });
    assert.deepEqual(JSON.parse(String(request?.body)), { contents });
  }
});
