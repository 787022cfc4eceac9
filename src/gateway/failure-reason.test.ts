import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureReason } from './failure-reason.ts';

const ACCOUNT = { credential: 'sk-upstream-secret-credential', baseUrl: 'https://provider.example' };

for (const [about, body, reason] of [
  [
    'type and code',
    { error: { type: 'invalid_request_error', code: 'model_not_found' } },
    'invalid_request_error/model_not_found',
  ],
  [
    'the type of messages',
    { type: 'error', error: { type: 'authentication_error', message: 'x' } },
    'authentication_error',
  ],
  ['the status of generate-content', [{ error: { code: 403, status: 'PERMISSION_DENIED' } }], 'PERMISSION_DENIED'],
  ['an error without a wrapper', { code: 'AccessDenied', message: 'x' }, 'AccessDenied'],
  ['a code that repeats the type', { error: { type: 'quota', code: 'quota' } }, 'quota'],
  ['text in place of a code', { error: { code: 'the prompt "secret plan" is too long' } }, undefined],
  ['a long code', { error: { code: 'x'.repeat(81) } }, undefined],
  ['a credential as code', { error: { code: ACCOUNT.credential } }, '[redacted]'],
  ['an error that is text', { error: 'no' }, undefined],
  ['null', null, undefined],
] as const)
  test(`failureReason reads ${about}`, () => {
    assert.equal(failureReason(JSON.stringify(body), ACCOUNT), reason);
  });

test('failureReason has none for a body that is not JSON', () => {
  assert.equal(failureReason('<html>Bad gateway</html>', ACCOUNT), undefined);
});
