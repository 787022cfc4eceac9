import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeError, encodeError } from './errors.ts';

const fault = (status: number, error: object | string, headers: Record<string, string> = {}) =>
  decodeError({ status, headers, body: typeof error === 'string' ? error : JSON.stringify({ error }) });
const rpc = (name: string, more: object) => ({ '@type': `type.googleapis.com/google.rpc.${name}`, ...more });

test('decodeError keeps message, status and field of a request error', () => {
  const details = [rpc('BadRequest', { fieldViolations: [{ field: 'contents[0]', description: 'x' }] })];
  assert.deepEqual(fault(400, { code: 400, message: 'Bad part.', status: 'INVALID_ARGUMENT', details }), {
    kind: 'request',
    error: { code: 'invalid_request', message: 'Bad part.', status: 400, param: 'contents[0]' },
    providerCode: 'INVALID_ARGUMENT',
  });
});

test('decodeError distinguishes long inputs and rejected signatures from other bad requests', () => {
  const long = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).';
  assert.equal(fault(400, { message: long, status: 'INVALID_ARGUMENT' }).error.code, 'context_length_exceeded');
  const rejected = fault(400, { message: 'Function call is missing a thought_signature in functionCall parts.' });
  assert.equal(rejected.kind, 'opaque_rejected');
  assert.equal(rejected.error.code, 'invalid_encrypted_content');
});

test('decodeError hides account errors and their messages from the client', () => {
  const cases = [
    fault(400, {
      message: 'API key not valid.',
      status: 'INVALID_ARGUMENT',
      details: [rpc('ErrorInfo', { reason: 'API_KEY_INVALID' })],
    }),
    fault(401, { message: 'secret-project', status: 'UNAUTHENTICATED' }),
    fault(403, {
      message: 'secret-project has no access',
      status: 'PERMISSION_DENIED',
      details: [rpc('ErrorInfo', { reason: 'CONSUMER_SUSPENDED' })],
    }),
    fault(403, { message: 'Your API key was reported as leaked.', status: 'PERMISSION_DENIED' }),
  ];
  for (const { kind, error } of cases) {
    assert.equal(kind, 'credential');
    assert.equal(error.code, 'server_is_overloaded');
    assert.doesNotMatch(error.message, /secret|key|location/i);
  }
});

test('decodeError never blames the credential for a firewall page, a file, a country or a token of the request', () => {
  const details = [rpc('ErrorInfo', { reason: 'ACCESS_TOKEN_TYPE_UNSUPPORTED' })];
  const file = 'You do not have permission to access the File abc or it may not exist.';
  const kinds = [
    fault(401, '<html>API key not valid</html>'),
    fault(402, '<html></html>'),
    fault(403, '<html></html>'),
    fault(403, {
      message: 'no',
      status: 'PERMISSION_DENIED',
      details: [rpc('ErrorInfo', { reason: 'SERVICE_DISABLED' })],
    }),
    fault(401, { message: 'no', status: 'UNAUTHENTICATED', details }),
    fault(403, { message: file, status: 'PERMISSION_DENIED' }),
    fault(400, { message: 'User location is not supported.', status: 'FAILED_PRECONDITION' }),
  ].map(({ kind }) => kind);
  assert.deepEqual(kinds, ['forbidden', 'forbidden', 'forbidden', 'forbidden', 'forbidden', 'request', 'model']);
});

test('decodeError classifies a missing model as a model fault', () => {
  assert.equal(fault(404, { message: 'models/x is not found', status: 'NOT_FOUND' }).kind, 'model');
  assert.equal(fault(403, { message: 'No access to this model.', status: 'PERMISSION_DENIED' }).kind, 'model');
});

test('decodeError returns the cooldown of a rate limit', () => {
  const details = [rpc('RetryInfo', { retryDelay: '34.07s' })];
  const limited = fault(429, { message: 'Quota.', status: 'RESOURCE_EXHAUSTED', details });
  assert.deepEqual([limited.kind, limited.cooldownMs, limited.error.retryAfterMs], ['rate_limited', 34_070, 34_070]);
  assert.equal(fault(429, { message: 'Please retry in 2.5s.' }).cooldownMs, 2500);
  assert.equal(fault(429, '', { 'retry-after': '7' }).cooldownMs, 7000);
  assert.equal(fault(429, {}).cooldownMs, undefined);
});

test('decodeError classifies an exhausted daily quota as quota_exhausted', () => {
  const details = [rpc('QuotaFailure', { violations: [{ quotaId: 'GenerateRequestsPerDayPerProject' }] })];
  const used = fault(429, { message: 'x', details: [...details, rpc('RetryInfo', { retryDelay: '1s' })] });
  assert.deepEqual(
    [used.kind, used.error.code, used.cooldownMs],
    ['quota_exhausted', 'server_is_overloaded', undefined],
  );
});

test('decodeError classifies provider failures by status and never returns HTML', () => {
  assert.equal(fault(503, { message: 'overloaded' }).kind, 'overloaded');
  assert.equal(fault(504, { message: 'slow' }).kind, 'timeout');
  const html = fault(502, '<html>secret</html>');
  assert.equal(html.kind, 'failed');
  assert.doesNotMatch(html.error.message, /html|secret/);
  for (const status of [400, 404]) assert.equal(fault(status, '<html></html>').kind, 'failed');
  assert.equal(fault(413, { message: 'Too big.' }).error.code, 'request_too_large');
});

test('decodeError accepts an error in a list', () => {
  const body = JSON.stringify([{ error: { code: 503, message: 'x', status: 'UNAVAILABLE' } }]);
  assert.equal(decodeError({ status: 503, headers: {}, body }).kind, 'overloaded');
});

test('G 7: encodeError writes status name, error code and the messages that clients match on', () => {
  assert.deepEqual(encodeError({ code: 'model_not_found', message: 'No such model.' }), {
    error: {
      code: 404,
      message: 'No such model.',
      status: 'NOT_FOUND',
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'model_not_found' }],
    },
  });
  const encoded = (message: string) => JSON.stringify(encodeError({ code: 'context_length_exceeded', message }));
  assert.match(
    encoded('prompt is too long: 210000 tokens > 200000 maximum'),
    /The input token count \(210000\) exceeds the maximum number of tokens allowed \(200000\)\./,
  );
  assert.match(encoded('Your input exceeds the context window.'), /The input token count exceeds the maximum/);
  assert.match(
    JSON.stringify(encodeError({ code: 'invalid_encrypted_content', message: 'x' })),
    /Thought signature is not valid\./,
  );
});
