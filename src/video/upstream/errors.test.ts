import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountFaultOf, type ProviderError, rejectionOf } from './errors.ts';

const error = (status: number, code: string): ProviderError => ({ status, code, message: '', param: undefined });

/**
 * What a rejected create is for the caller: content makes a failed task,
 * a request a stable error, the others another attempt later.
 */
const REJECTIONS: readonly (readonly [status: number, code: string, kind: string])[] = [
  [400, 'InputTextSensitiveContentDetected', 'content'],
  [400, 'InvalidParameter.UnsupportedParameter', 'request'],
  [400, 'MissingParameter', 'request'],
  [400, 'SomethingNew', 'request'],
  [401, 'AuthenticationError', 'account'],
  [402, 'HTTP_402', 'account'],
  [403, 'AccountOverdueError', 'account'],
  [404, 'ModelNotOpen', 'account'],
  [404, 'HTTP_404', 'account'],
  [429, 'HTTP_429', 'rate_limited'],
  [429, 'InvalidParameter', 'rate_limited'],
  [429, 'AccountOverdueError', 'rate_limited'],
  [400, 'RequestBurstTooFast', 'rate_limited'],
];

test('a rejected create blames the content, the request, the account or the moment', () => {
  for (const [status, code, kind] of REJECTIONS)
    assert.equal(rejectionOf(error(status, code)).kind, kind, `${status} ${code}`);
});

test('an asset that is not ready at another Dragoman is no stable error', () => {
  const isTransient = (code: string): boolean => {
    const rejection = rejectionOf(error(409, code));
    return rejection.kind === 'request' && rejection.isTransient === true;
  };
  for (const code of ['asset_not_ready', 'asset_binding_unavailable']) assert.ok(isTransient(code), code);
  for (const code of ['asset_not_found', 'asset_kind_mismatch', 'invalid_request']) assert.ok(!isTransient(code), code);
});

test('an account rests for five minutes for a model that it does not have, and for no error of one request', () => {
  for (const code of ['InvalidEndpoint', 'ModelNotOpen'])
    assert.deepEqual(accountFaultOf(error(404, code)), { kind: 'failed', cooldownMs: 300_000 });
  assert.deepEqual(accountFaultOf(error(401, 'AuthenticationError')), { kind: 'credential' });
  assert.deepEqual(accountFaultOf(error(403, 'AccountOverdueError')), { kind: 'quota_exhausted' });
  assert.deepEqual(accountFaultOf(error(429, 'AccountOverdueError')), { kind: 'rate_limited' });
  assert.deepEqual(accountFaultOf(error(403, 'AccessDenied')), { kind: 'forbidden' });
});
