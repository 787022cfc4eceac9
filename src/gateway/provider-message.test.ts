import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FailedAttempt, providerMessage } from './provider-message.ts';

const ACCOUNT = { credential: 'sk-secret-of-the-account', baseUrl: 'https://api.provider.example/v1' };
const words = (message: string, more: Partial<FailedAttempt> = {}): string | undefined =>
  providerMessage({ message, account: ACCOUNT, model: 'gpt-x-2030', sent: null, ...more });

test('providerMessage keeps messages in one line, short and without secrets', () => {
  assert.equal(
    words('Rate limit reached for gpt-x-2030 in organization org-abcdefghijklmnopqrst\n on requests per min. '),
    'Rate limit reached for gpt-x-2030 in organization [redacted] on requests per min.',
  );
  assert.equal(
    words('Key sk-secret-of-the-account at https://api.provider.example/v1 is over its limit'),
    'Key [redacted] at [redacted] is over its limit',
  );
  assert.equal(words('x'.repeat(1_000))?.length, 300);
});

test('providerMessage keeps nothing that may be text of the request', () => {
  const body = JSON.stringify({ model: 'gpt-x-2030', input: 'the secret plan of acme is to buy the moon' });
  for (const sent of [body, Buffer.from(body)]) {
    assert.equal(words('cannot process: the secret plan of acme is to buy', { sent }), undefined);
    assert.equal(words('The model gpt-x-2030 is overloaded', { sent }), 'The model gpt-x-2030 is overloaded');
  }
  assert.equal(words("Unknown parameter: 'tools[0].x'. Got 'a b'"), "Unknown parameter: 'tools[0].x'. Got '[...]'");
  assert.equal(words('short', { sent: Buffer.alloc(300 * 1024) }), undefined, 'too long to search');
  assert.equal(words('Überlastet'), undefined, 'may stand escaped in the request');
  assert.equal(words(`failed on "${'quoted text '.repeat(4)}" again`), 'failed on "[...]" again');
});
