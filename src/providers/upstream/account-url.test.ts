import assert from 'node:assert/strict';
import { test } from 'node:test';
import { locateUpstream } from './account-url.ts';

test('locateUpstream joins the base URL and the path, with or without a version and a prefix', () => {
  for (const [style, base, path, at] of [
    ['responses', 'https://a.test/v1', '/v1/responses', '/v1/responses'],
    ['responses', 'https://a.test/v1/', '/v1/responses?x=1', '/v1/responses?x=1'],
    ['responses', 'https://a.test/openai/v9', '/v1/chat/completions', '/openai/v9/chat/completions'],
    ['messages', 'https://a.test', '/v1/messages', '/v1/messages'],
    ['messages', 'https://a.test/anthropic/', '/v1/messages', '/anthropic/v1/messages'],
    ['generate-content', 'https://a.test', '/v1beta/models/m:generateContent', '/v1beta/models/m:generateContent'],
  ] as const) {
    assert.deepEqual(locateUpstream(style, { id: 'a', baseUrl: base, credential: 'k' }, path), {
      origin: 'https://a.test',
      path: at,
    });
  }
});

test('locateUpstream keeps the query of the base URL, which no caller can change', () => {
  const account = {
    id: 'a',
    baseUrl: 'https://a.test/openai/deployments/d?api-version=2024-10-21',
    credential: 'k',
  };
  for (const [path, at] of [
    ['/v1/chat/completions', '/openai/deployments/d/chat/completions?api-version=2024-10-21'],
    [
      '/v1/responses/r?include=a&stream=true',
      '/openai/deployments/d/responses/r?api-version=2024-10-21&include=a&stream=true',
    ],
    ['/v1/responses/r?api%2Dversion=1&include=a', '/openai/deployments/d/responses/r?api-version=2024-10-21&include=a'],
  ] as const)
    assert.equal(locateUpstream('responses', account, path).path, at);
});
