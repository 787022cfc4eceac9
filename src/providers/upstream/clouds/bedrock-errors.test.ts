import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messagesStatus } from './bedrock-errors.ts';

/**
 * A 401 parks the account and a 429 cools it down; the others say something about the request, the model or the moment.
 */
const ERRORS: readonly (readonly [name: string, message: string, given: number, status: number])[] = [
  ['AccessDeniedException', 'You do not have access to the model with this id.', 403, 403],
  ['AccessDeniedException', 'Authentication failed: Please make sure your API Key is valid.', 403, 401],
  ['UnrecognizedClientException', 'The security token included in the request is invalid.', 403, 401],
  ['ExpiredTokenException', 'The security token included in the request is expired', 403, 401],
  ['ThrottlingException', 'Too many requests', 400, 429],
  ['throttlingException', 'Too many requests', 200, 429],
  ['ServiceQuotaExceededException', 'Your account has reached a quota', 400, 429],
  ['ModelNotReadyException', 'The model is not ready', 429, 503],
  ['ModelTimeoutException', 'The model took too long', 408, 504],
  ['ModelErrorException', 'The model failed', 424, 500],
  ['ResourceNotFoundException', 'There is no such model', 404, 404],
  ['ValidationException', 'max_tokens: must be at least 1', 400, 400],
  ['ValidationException', 'The provided model identifier is invalid.', 400, 404],
  ['', 'Something', 418, 418],
];

test('an error of Bedrock has the status of the same error at the provider', () => {
  for (const [name, message, given, status] of ERRORS)
    assert.equal(messagesStatus(name, message, given), status, `${name}: ${message}`);
});
