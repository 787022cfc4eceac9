import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FailedAttempt, providerMessage } from './failure-reason.ts';

const ACCOUNT = { credential: 'sk-secret-of-the-account', baseUrl: 'https://api.provider.example/v1' };
const messageOf = (message: string, more: Partial<FailedAttempt> = {}): string | undefined =>
  providerMessage({ message, account: ACCOUNT, model: 'gpt-x-2030', sent: null, ...more });

test('providerMessage keeps messages in one line, short and without secrets', () => {
  assert.equal(
    messageOf('Rate limit reached for gpt-x-2030 in organization org-abcdefghijklmnopqrst\n on requests per min. '),
    'Rate limit reached for gpt-x-2030 in organization [redacted] on requests per min.',
  );
  assert.equal(
    messageOf('Key sk-secret-of-the-account at https://api.provider.example/v1 is over its limit'),
    'Key [redacted] at [redacted] is over its limit',
  );
  assert.equal(messageOf('x'.repeat(1_000))?.length, 300);
});

test('providerMessage keeps nothing that may be text of the request', () => {
  const body = JSON.stringify({ model: 'gpt-x-2030', input: 'the secret plan of acme is to buy the moon' });
  for (const sent of [body, Buffer.from(body)]) {
    assert.equal(messageOf('cannot process: the secret plan of acme is to buy', { sent }), undefined);
    assert.equal(messageOf('The model gpt-x-2030 is overloaded', { sent }), 'The model gpt-x-2030 is overloaded');
  }
  assert.equal(messageOf("Unknown parameter: 'tools[0].x'. Got 'a b'"), "Unknown parameter: 'tools[0].x'. Got '[...]'");
  assert.equal(messageOf('short', { sent: Buffer.alloc(300 * 1024) }), undefined, 'too long to search');
  assert.equal(messageOf('Überlastet'), undefined, 'may stand escaped in the request');
  assert.equal(messageOf(`failed on "${'quoted text '.repeat(4)}" again`), 'failed on "[...]" again');
});
