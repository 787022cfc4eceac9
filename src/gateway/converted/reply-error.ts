/** Errors that an upstream tells inside an answer, before a client reads them: without our own secrets, with its own field names. */
import type { Account } from '../../catalog/index.ts';
import { type Fault, type HubError, inClientsFields } from '../../dialects/index.ts';
import type { FaultKind } from '../../rules/index.ts';
import { redact } from '../redact.ts';
import type { Conversation } from './convert-call.ts';

/** An error inside an answer; its code alone says how the account did. */
export function toldFault(error: HubError, { pair, answer }: Conversation, account: Account): Fault {
  const { code, message, retryAfterMs } = error;
  return {
    kind: KIND[code] ?? 'broken',
    error: inClientsFields(pair, answer.request, { ...error, message: redact(message, account) }),
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
