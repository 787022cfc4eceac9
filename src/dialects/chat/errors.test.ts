import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultKind } from '../../rules/index.ts';
import type { HubError } from '../hub/types.ts';
import { decodeError, encodeError } from './errors.ts';

const failure = (status: number, error: object | string, headers: Record<string, string> = {}) =>
  decodeError({ status, headers, body: typeof error === 'string' ? error : JSON.stringify({ error }) });

test('decodeError classifies upstream failures', () => {
  const cases: [number, object | string, FaultKind, HubError['code']][] = [
    [400, { code: 'context_length_exceeded', message: 'too long' }, 'request', 'context_length_exceeded'],
    [400, { message: "This model's maximum context length is 8192 tokens." }, 'request', 'context_length_exceeded'],
    [400, { code: 'invalid_encrypted_content', message: 'x' }, 'opaque_rejected', 'invalid_encrypted_content'],
    [400, { message: 'Function call is missing a thought_signature' }, 'opaque_rejected', 'invalid_encrypted_content'],
    [429, { code: 'rate_limit_exceeded', type: 'tokens' }, 'rate_limited', 'rate_limit_exceeded'],
    [429, { code: 'insufficient_quota', type: 'insufficient_quota' }, 'quota_exhausted', 'server_is_overloaded'],
    [402, {}, 'quota_exhausted', 'server_is_overloaded'],
    [429, { code: 'slow_down' }, 'overloaded', 'server_is_overloaded'],
    [503, '<html>', 'overloaded', 'server_is_overloaded'],
    [401, { code: 'invalid_api_key', message: 'Incorrect API key: sk-secret' }, 'credential', 'server_is_overloaded'],
    [401, { type: 'authentication_error', message: 'x' }, 'credential', 'server_is_overloaded'],
    [401, { message: 'Invalid API key.' }, 'credential', 'server_is_overloaded'],
    [403, { message: 'Your organization has been disabled.' }, 'credential', 'server_is_overloaded'],
    [401, { message: 'no' }, 'forbidden', 'upstream_error'],
    [401, '<html>', 'forbidden', 'upstream_error'],
    [402, '<html>', 'forbidden', 'upstream_error'],
    [403, {}, 'forbidden', 'upstream_error'],
    [403, '<html>Request blocked, API key is invalid</html>', 'forbidden', 'upstream_error'],
    [403, { message: 'You have no access to model x.' }, 'model', 'model_not_found'],
    [403, { code: 'content_policy_violation', message: 'x' }, 'request', 'content_policy_violation'],
    [404, { message: 'No such File object: file-1' }, 'request', 'invalid_request'],
    [403, { code: 'unsupported_country_region_territory' }, 'model', 'model_not_found'],
    [404, { code: 'model_not_found' }, 'model', 'model_not_found'],
    [400, { code: 'model_not_found' }, 'model', 'model_not_found'],
    [400, { code: 'content_filter', message: 'x' }, 'request', 'content_policy_violation'],
    [400, { code: 'unsupported_value', message: 'x', param: 'temperature' }, 'request', 'unsupported_parameter'],
    [400, { code: 'invalid_value', message: 'x' }, 'request', 'invalid_value'],
    [413, '', 'request', 'request_too_large'],
    [422, { message: 'x' }, 'request', 'invalid_request'],
    [408, {}, 'failed', 'upstream_error'],
    [500, 'Internal Server Error', 'failed', 'upstream_error'],
    [302, '', 'failed', 'upstream_error'],
    [400, '<html>', 'failed', 'upstream_error'],
    [404, '<html>', 'failed', 'upstream_error'],
    [404, '{"detail":"Not Found"}', 'failed', 'upstream_error'],
    [504, '<html>', 'timeout', 'upstream_timeout'],
    [504, { message: 'x' }, 'timeout', 'upstream_timeout'],
  ];
  for (const [status, error, kind, code] of cases) {
    const fault = failure(status, error);
    assert.deepEqual([fault.kind, fault.error.code], [kind, code], `${status} ${JSON.stringify(error)}`);
    assert.ok(fault.error.message.length > 0);
  }
});

test('decodeError keeps message, field and status of request errors only', () => {
  assert.deepEqual(failure(422, { message: 'Bad thing.', param: 'tools' }).error, {
    code: 'invalid_request',
    message: 'Bad thing.',
    status: 422,
    param: 'tools',
  });
  for (const status of [401, 429, 500])
    assert.ok(!JSON.stringify(failure(status, { message: 'key sk-secret of org-1' })).includes('secret'));
});

test('decodeError takes the cooldown from the headers, else from the message', () => {
  assert.equal(failure(429, {}, { 'retry-after': '12' }).cooldownMs, 12_000);
  assert.equal(failure(429, {}, { 'retry-after-ms': '250', 'retry-after': '1' }).error.retryAfterMs, 250);
  assert.equal(failure(429, { message: 'Please try again in 6.5s.' }).cooldownMs, 6_500);
  assert.equal(failure(429, { message: 'Please try again in 20ms.' }).cooldownMs, 20);
  assert.equal(failure(429, {}, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }).cooldownMs, undefined);
});

test('encodeError sends type, code and the sentences that clients match on', () => {
  assert.deepEqual(
    encodeError({ code: 'context_length_exceeded', message: 'prompt is too long: 9 tokens > 8 maximum' }),
    {
      error: {
        message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
        type: 'invalid_request_error',
        param: null,
        code: 'context_length_exceeded',
      },
    },
  );
  assert.deepEqual(encodeError({ code: 'upstream_error', message: 'x' }), {
    error: { message: 'x', type: 'server_error', param: null, code: 'upstream_error' },
  });
  assert.deepEqual(encodeError({ code: 'server_is_overloaded', message: 'x' }), {
    error: { message: 'x', type: 'service_unavailable_error', param: null, code: 'server_is_overloaded' },
  });
});
