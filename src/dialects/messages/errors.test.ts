import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERRORS, type ErrorCode } from '../../rules/index.ts';
import { decodeError, encodeError } from './errors.ts';

const fault = (status: number, message?: string, headers: Record<string, string> = {}, type = 'x') =>
  decodeError({
    status,
    headers,
    body:
      message === undefined ? '<html>Bad gateway</html>' : JSON.stringify({ type: 'error', error: { type, message } }),
  });

describe('messages decodeError', () => {
  const ROWS: readonly [number, string | undefined, string, ErrorCode, Record<string, string>?][] = [
    [400, 'messages.0: wrong', 'request', 'invalid_request'],
    [400, 'prompt is too long: 3 tokens > 2 maximum', 'request', 'context_length_exceeded'],
    [400, 'input length and `max_tokens` exceed context limit: 1 + 2 > 2', 'request', 'context_length_exceeded'],
    [
      400,
      'messages.1.content.0: Invalid `signature` in `thinking` block',
      'opaque_rejected',
      'invalid_encrypted_content',
    ],
    [400, 'Output blocked by content filtering policy', 'request', 'content_policy_violation'],
    [400, 'Your credit balance is too low to access the API', 'quota_exhausted', 'server_is_overloaded'],
    [401, 'invalid x-api-key', 'credential', 'server_is_overloaded'],
    [402, 'pay', 'quota_exhausted', 'server_is_overloaded'],
    [401, 'no', 'forbidden', 'upstream_error'],
    [401, undefined, 'forbidden', 'upstream_error'],
    [400, 'This organization has been disabled.', 'credential', 'server_is_overloaded'],
    [402, undefined, 'forbidden', 'upstream_error'],
    [403, 'This organization has been disabled.', 'credential', 'server_is_overloaded'],
    [403, 'forbidden', 'forbidden', 'upstream_error'],
    [403, undefined, 'forbidden', 'upstream_error'],
    [404, 'File not found: file_1', 'request', 'invalid_request'],
    [403, 'no access to model claude-x', 'model', 'model_not_found'],
    [404, 'model: claude-x', 'model', 'model_not_found'],
    [400, undefined, 'failed', 'upstream_error'],
    [404, undefined, 'failed', 'upstream_error'],
    [413, undefined, 'request', 'request_too_large'],
    [413, 'too large', 'request', 'request_too_large'],
    [429, 'slow down', 'rate_limited', 'rate_limit_exceeded', { 'retry-after': '12' }],
    [429, 'slow down', 'rate_limited', 'rate_limit_exceeded', { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }],
    [429, 'spend cap', 'quota_exhausted', 'server_is_overloaded'],
    [429, undefined, 'rate_limited', 'rate_limit_exceeded'],
    [500, 'oops', 'failed', 'upstream_error'],
    [502, undefined, 'failed', 'upstream_error'],
    [503, 'busy', 'overloaded', 'server_is_overloaded'],
    [504, 'late', 'timeout', 'upstream_timeout'],
    [529, 'Overloaded', 'overloaded', 'server_is_overloaded'],
  ];
  for (const [status, message, kind, code, headers] of ROWS) {
    it(`classifies ${status} ${message ?? 'without JSON'} as ${kind} with code ${code}`, () => {
      const { kind: found, error } = fault(status, message, headers);
      assert.deepEqual([found, error.code], [kind, code]);
    });
  }

  it('keeps the message of a request error and hides messages about the account', () => {
    assert.deepEqual(fault(400, 'messages.0: wrong').error, {
      code: 'invalid_request',
      message: 'messages.0: wrong',
      status: 400,
    });
    assert.doesNotMatch(fault(401, 'organization acme is disabled').error.message, /acme/);
    assert.doesNotMatch(fault(502).error.message, /html/i);
  });

  it("reads the type of the provider's error and reports it as the code", () => {
    const { kind, providerCode } = fault(401, 'no', {}, 'authentication_error');
    assert.deepEqual([kind, providerCode], ['credential', 'authentication_error']);
    assert.equal(fault(401, 'no', {}, 'sk-ant-secret of "acme"').providerCode, undefined);
  });

  it('returns the retry delay', () => {
    const { cooldownMs, error } = fault(429, 'slow down', { 'retry-after': '12' });
    assert.deepEqual([cooldownMs, error.retryAfterMs], [12_000, 12_000]);
  });
});

describe('messages encodeError', () => {
  const typeOf = (code: ErrorCode) => (encodeError({ code, message: 'm' }, 'req_1').error as { type: string }).type;
  const messageOf = (code: ErrorCode, message: string) =>
    (encodeError({ code, message }, 'req_1').error as { message: string }).message;

  it('G 7: has a type for every code', () => {
    for (const code of Object.keys(ERRORS) as ErrorCode[]) assert.match(typeOf(code), /_error$|^request_too_large$/);
    assert.equal(typeOf('server_is_overloaded'), 'overloaded_error');
    assert.equal(typeOf('upstream_error'), 'api_error');
    assert.equal(typeOf('upstream_timeout'), 'timeout_error');
    assert.equal(typeOf('insufficient_balance'), 'billing_error');
  });

  it('G 7: uses the "prompt is too long" message that agents match on', () => {
    const code = 'context_length_exceeded';
    assert.equal(
      messageOf(code, "This model's maximum context length is 128000 tokens, however you requested 130000 tokens."),
      'prompt is too long: 130000 tokens > 128000 maximum',
    );
    assert.match(messageOf(code, 'Your input exceeds the context window of this model.'), /^prompt is too long/);
    const own = 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000';
    assert.equal(messageOf(code, own), own);
  });

  it('G 7: uses the invalid signature message that agents match on', () => {
    assert.match(
      messageOf('invalid_encrypted_content', 'could not be verified'),
      /Invalid `signature` in `thinking` block/,
    );
  });
});
