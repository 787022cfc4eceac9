import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redact } from './redact.ts';

const ACCOUNT = { credential: 'cred$&.*+(x)/==', baseUrl: 'https://eu.provider.example:8443/proxy/v1' };

test('redact removes the credential everywhere, whatever characters it has', () => {
  assert.equal(
    redact(`key ${ACCOUNT.credential}, again ${ACCOUNT.credential}.`, ACCOUNT),
    'key [redacted], again [redacted].',
  );
});

test('redact removes every form of the base URL', () => {
  for (const form of [
    'https://eu.provider.example:8443/proxy/v1',
    'https://eu.provider.example:8443',
    'eu.provider.example:8443',
    'eu.provider.example',
  ]) {
    assert.equal(redact(`POST ${form} failed`, ACCOUNT), 'POST [redacted] failed', form);
  }
});

test("redact removes provider keys that are not the account's", () => {
  for (const key of [
    'sk-proj-0123456789abcdef',
    'sk-ant-api03-0123456789abcdef',
    'AIzaSyA0123456789abcdef',
    'dg-0123456789abcdefghij',
    'gsk-0123456789abcdefghij',
  ]) {
    assert.equal(redact(`Incorrect API key provided: ${key}.`, ACCOUNT), 'Incorrect API key provided: [redacted].');
  }
});

test("redact removes ids of the operator's organisation and project", () => {
  for (const [text, clean] of [
    [
      'Rate limit in organization org-AbCdEfGhIjKlMnOpQrStUvWx on tokens',
      'Rate limit in organization [redacted] on tokens',
    ],
    ['Project proj_AbCdEfGhIjKlMnOpQrStUvWx has no access', 'Project [redacted] has no access'],
    ['consumer "projects/123456789012"', 'consumer "projects/[redacted]"'],
    ['an org-specific rule of proj_short', 'an org-specific rule of proj_short'],
  ] as const)
    assert.equal(redact(text, ACCOUNT), clean);
});

test('redact keeps all other text, because clients match on it', () => {
  for (const text of [
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    'tools.0.name: skip_validation_and_continue_anyway is not allowed',
    '{"error":{"type":"invalid_request_error","message":"sk-short and task-0123456789abcdef"}}',
    'dgram_socket_connection_failed, provider.example says',
  ]) {
    assert.equal(redact(text, ACCOUNT), text);
  }
});

test('redact keeps ordinary words that equal a short key or host', () => {
  const local = { credential: 'x', baseUrl: 'http://api/v1' };
  assert.equal(
    redact('api_error: exceeded at http://api/v1/chat (x)', local),
    'api_error: exceeded at [redacted]/chat (x)',
  );
});
