import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeError } from './errors.ts';

const fault = (status: number, error: object, headers = {}) =>
  decodeError({ status, headers, body: JSON.stringify({ error }) });

describe('responses error decoder', () => {
  it('keeps message, status and param of request errors', () => {
    const decoded = fault(400, {
      message: "Invalid 'top_p'.",
      type: 'invalid_request_error',
      param: 'top_p',
      code: 'invalid_value',
    });
    assert.deepEqual(decoded, {
      kind: 'request',
      error: { code: 'invalid_value', message: "Invalid 'top_p'.", status: 400, param: 'top_p' },
      providerCode: 'invalid_value',
    });
  });
  it('maps codes, messages and statuses to fault kinds', () => {
    const cases: readonly (readonly [number, object, string, string])[] = [
      [400, { code: 'context_length_exceeded', message: 'x' }, 'request', 'context_length_exceeded'],
      [400, { message: 'Your input exceeds the context window of this model.' }, 'request', 'context_length_exceeded'],
      [400, { code: 'invalid_encrypted_content', message: 'x' }, 'opaque_rejected', 'invalid_encrypted_content'],
      [
        400,
        { message: "Item 'rs_1' of type 'reasoning' was provided without its required following item." },
        'opaque_rejected',
        'invalid_encrypted_content',
      ],
      [
        404,
        { message: 'Item not found. Items are not persisted when `store` is set to false.' },
        'opaque_rejected',
        'invalid_encrypted_content',
      ],
      [
        400,
        { message: 'Encrypted content is not supported with this model.', param: 'include' },
        'request',
        'unsupported_parameter',
      ],
      [400, { code: 'moderation_blocked', message: 'x' }, 'request', 'content_policy_violation'],
      [
        401,
        { code: 'invalid_api_key', message: 'Incorrect API key provided: sk-abc' },
        'credential',
        'server_is_overloaded',
      ],
      [401, { type: 'invalid_request_error', code: null, message: 'x' }, 'forbidden', 'upstream_error'],
      [401, { type: 'authentication_error', message: 'x' }, 'credential', 'server_is_overloaded'],
      [
        401,
        { type: 'external_connector_error', message: 'MCP server: 401 Unauthorized' },
        'forbidden',
        'upstream_error',
      ],
      [403, { code: 'unsupported_country_region_territory', message: 'x' }, 'model', 'model_not_found'],
      [403, { message: 'x' }, 'forbidden', 'upstream_error'],
      [403, { message: 'Your account is suspended.' }, 'credential', 'server_is_overloaded'],
      [403, { message: 'The project has no access to model x.' }, 'model', 'model_not_found'],
      [404, { code: 'model_not_found', message: 'x' }, 'model', 'model_not_found'],
      [429, { code: 'rate_limit_exceeded', message: 'x' }, 'rate_limited', 'rate_limit_exceeded'],
      [429, { type: 'insufficient_quota', code: null, message: 'x' }, 'quota_exhausted', 'server_is_overloaded'],
      [402, { message: 'x' }, 'quota_exhausted', 'server_is_overloaded'],
      [503, { code: 'slow_down', message: 'x' }, 'overloaded', 'server_is_overloaded'],
      [500, { type: 'server_error', message: 'x' }, 'failed', 'upstream_error'],
      [408, { message: 'x' }, 'failed', 'upstream_error'],
      [422, { message: 'x' }, 'request', 'invalid_request'],
      [413, { message: 'x' }, 'request', 'request_too_large'],
      [504, { type: 'x', message: 'x' }, 'timeout', 'upstream_timeout'],
    ];
    for (const [status, error, kind, code] of cases) {
      const decoded = fault(status, error);
      assert.deepEqual([decoded.kind, decoded.error.code], [kind, code], JSON.stringify(error));
    }
  });
  it('treats a body of another form as the response of a proxy', () => {
    const decodeProxyError = (status: number, body: string) => {
      const { kind, error } = decodeError({ status, headers: {}, body });
      return [kind, error.code];
    };
    for (const body of ['<html>nginx</html>', '', '"no"', '{"detail":"Not Found"}', '[]']) {
      assert.deepEqual(decodeProxyError(400, body), ['failed', 'upstream_error'], body);
      assert.deepEqual(decodeProxyError(404, body), ['failed', 'upstream_error'], body);
      for (const status of [401, 402, 403])
        assert.deepEqual(decodeProxyError(status, body), ['forbidden', 'upstream_error'], body);
      assert.deepEqual(decodeProxyError(413, body), ['request', 'request_too_large'], body);
      assert.deepEqual(decodeProxyError(504, body), ['timeout', 'upstream_timeout'], body);
      assert.deepEqual(decodeProxyError(429, body), ['rate_limited', 'rate_limit_exceeded'], body);
    }
    assert.deepEqual(decodeProxyError(400, '{"message":"Bad."}'), ['request', 'invalid_request']);
  });
  it('reads the retry delay from headers, else from the message', () => {
    assert.equal(fault(429, { code: 'rate_limit_exceeded', message: 'x' }, { 'retry-after': '12' }).cooldownMs, 12_000);
    assert.equal(
      fault(429, { code: 'rate_limit_exceeded', message: 'x' }, { 'retry-after-ms': '1500', 'retry-after': '2' }).error
        .retryAfterMs,
      1500,
    );
    assert.equal(
      fault(429, { code: 'rate_limit_exceeded', message: 'Please try again in 1.2s.' }).error.retryAfterMs,
      1200,
    );
    assert.equal(fault(429, { code: 'rate_limit_exceeded', message: 'Please try again in 350ms.' }).cooldownMs, 350);
  });
  it('never shows markup, account ids or credentials', () => {
    const html = decodeError({ status: 502, headers: {}, body: '<html>secret host</html>' });
    assert.deepEqual([html.kind, html.error.message], ['failed', 'The provider failed.']);
    const key = fault(401, { code: 'invalid_api_key', message: 'Incorrect API key provided: sk-live-123456' });
    assert.ok(!key.error.message.includes('sk-'));
    const named = fault(400, { code: 'invalid_value', message: 'Organization org-Abc123def456 may not.' });
    assert.equal(named.error.message, 'Organization [hidden] may not.');
  });
});
