/** Errors that an upstream tells inside an answer, before a client reads them: without our own secrets, with its own field names. */
import type { Account } from '../../catalog/index.ts';
import { type Fault, type HubError, withClientField } from '../../dialects/index.ts';
import type { FaultKind } from '../../rules/index.ts';
import { redact } from '../redact.ts';
import type { RoundContext } from './convert-call.ts';

/** An error inside an answer; its code alone says how the account did. */
export function faultFromReply(error: HubError, { pair, answer }: RoundContext, account: Account): Fault {
  const { code, message, retryAfterMs } = error;
  return {
    kind: KIND[code] ?? 'failed',
    error: withClientField(pair, answer.request, { ...error, message: redact(message, account) }),
    ...(retryAfterMs !== undefined && { restMs: retryAfterMs }),
  };
}

const KIND: Partial<Record<HubError['code'], FaultKind>> = {
  rate_limit_exceeded: 'rate_limited',
  server_is_overloaded: 'overloaded',
  upstream_timeout: 'timeout',
  invalid_request: 'request',
  invalid_value: 'request',
  unsupported_parameter: 'request',
  request_too_large: 'request',
  context_length_exceeded: 'request',
  content_policy_violation: 'request',
  invalid_encrypted_content: 'opaque_rejected',
  model_not_found: 'model',
};
