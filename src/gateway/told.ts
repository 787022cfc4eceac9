/**
 * Errors that an upstream told about a converted request, before a client reads them: without our own secrets, and in the
 * words that clients of its dialect act on.
 */
import type { Account } from '../catalog/index.ts';
import type { Fault, HubError } from '../dialects/index.ts';
import type { Dialect, FaultKind } from '../rules/index.ts';
import { redact } from './redact.ts';

/** An error inside an answer; its code alone says how the account did. */
export function toldFault(error: HubError, account: Account): Fault {
  const { code, message, retryAfterMs } = error;
  return {
    kind: KIND[code] ?? 'broken',
    error: { ...error, message: redact(message, account) },
    ...(retryAfterMs !== undefined && { restMs: retryAfterMs }),
  };
}

const KIND: Partial<Record<HubError['code'], FaultKind>> = {
  rate_limit_exceeded: 'limited',
  server_is_overloaded: 'overloaded',
  upstream_timeout: 'silent',
  invalid_request: 'request',
  invalid_value: 'request',
  unsupported_parameter: 'request',
  request_too_large: 'request',
  context_length_exceeded: 'request',
  content_policy_violation: 'request',
  invalid_encrypted_content: 'carrier',
  model_not_found: 'model',
};

/** What stands before the first byte; inside a stream the encoders choose these words themselves. */
export function inWordsOf(dialect: Dialect, { code, message }: HubError): string {
  if (code === 'context_length_exceeded') return dialect === 'messages' ? tooLong(message) : CONTEXT_WINDOW;
  if (code === 'invalid_encrypted_content' && dialect === 'messages') return SIGNATURE;
  return message;
}

const CONTEXT_WINDOW = 'Your input exceeds the context window of this model. Please adjust your input and try again.';
const SIGNATURE = 'messages: Invalid `signature` in `thinking` block';

/** Agents compact their history when they read the beginning; the numbers are told where there are exactly two. */
function tooLong(message: string): string {
  if (/^(?:prompt is too long|input length and `max_tokens` exceed)/.test(message)) return message;
  const [a, b, ...more] = (message.match(/\d{4,9}/g) ?? []).map(Number);
  return a === undefined || b === undefined || more.length > 0
    ? 'prompt is too long: the input exceeds the context window of this model'
    : `prompt is too long: ${Math.max(a, b)} tokens > ${Math.min(a, b)} maximum`;
}
