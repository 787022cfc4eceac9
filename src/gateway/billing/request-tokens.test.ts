import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateTokens } from '../../core/index.ts';
import { estimateBody, estimateBytes } from './request-tokens.ts';

const PARAGRAPH = 'The quick brown fox, 13 lazy dogs; const x = foo(bar)\n人工智能网关\n';

test('long texts are estimated by samples, near the sum of all of them', () => {
  const texts = Array.from({ length: 2_000 }, (_, n) => PARAGRAPH.repeat(1 + (n % 20)));
  const exact = texts.reduce((sum, text) => sum + estimateTokens(text) + 4, 0);
  const estimate = estimateBody('chat', { messages: texts.map((content) => ({ role: 'user', content })) });
  assert.ok(Math.abs(estimate / exact - 1) < 0.05, `${estimate} of ${exact}`);
});

test('bytes that are not JSON are estimated as text', () => {
  assert.equal(estimateBytes('chat', Buffer.from('{"messages":')), estimateTokens('{"messages":'));
});
