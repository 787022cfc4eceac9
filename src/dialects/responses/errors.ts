/** Errors of the responses dialect, in both directions. Never shows account ids or credentials to the client. */
import { valueOfJson } from '../../core/index.ts';
import { type ErrorCode, type FaultKind, faultRow, isPolicyCode, providerErrorRow } from '../../rules/index.ts';
import type { UpstreamFailure } from '../codec.ts';
import { type Fault, withProviderCode } from '../errors/fault.ts';
import { retryAfterMs } from '../errors/retry-after.ts';
import type { HubError, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeString } from '../wire/read.ts';

export function decodeError(failure: UpstreamFailure): Fault {
  const wire = errorObjectIn(failure.body);
  if (!wire) return faultFromStatus(failure);
  const decoded = decodeErrorObject(wire, failure.status);
  const retryMs = retryAfterMs(failure.headers) ?? decoded.error.retryAfterMs;
  const canRetry = decoded.kind === 'rate_limited' || decoded.kind === 'overloaded';
  const fault = {
    kind: decoded.kind,
    error: canRetry && retryMs !== undefined ? { ...decoded.error, retryAfterMs: retryMs } : decoded.error,
    ...(retryMs !== undefined && { cooldownMs: retryMs }),
  };
  return withProviderCode(fault, maybeString(wire.code), maybeString(wire.type));
}

/** Finds the error object, nested or flat. Returns undefined for HTML and for JSON of another form. */
function errorObjectIn(body: string): JsonObject | undefined {
  const value = valueOfJson(body);
  if (!isObject(value)) return undefined;
  if (isObject(value.error)) return value.error;
  if (maybeString(value.error)) return { message: value.error };
  return maybeString(value.message) === undefined && maybeString(value.code) === undefined ? undefined : value;
}

/** A proxy in front of the provider sent the body. Its status says nothing about the request, except for 413. */
function faultFromStatus({ status, headers }: UpstreamFailure): Fault {
  const { kind, code } = providerErrorRow('responses', { status, codes: [], message: '', isOwn: false });
  const retryMs = retryAfterMs(headers);
  const kept = kind === 'request' ? { status } : {};
  return {
    kind,
    error: { code: code ?? faultRow(kind).code, message: MESSAGES[kind], ...kept },
    ...(retryMs !== undefined && { cooldownMs: retryMs }),
  };
}

/** Decodes the error object of an HTTP body, an `error` event or a failed response. */
export function decodeErrorObject(wire: JsonObject, status?: number): Pick<Fault, 'kind' | 'error'> {
  const code = maybeString(wire.code) ?? '';
  const type = maybeString(wire.type) ?? '';
  const message = maybeString(wire.message) ?? '';
  const row = providerErrorRow('responses', {
    status: status ?? 0,
    codes: [code],
    types: [type],
    message,
    isOwn: true,
  });
  const { kind } = row;
  const isRequestError = kind === 'request' || kind === 'opaque_rejected';
  return {
    kind,
    error: compact({
      code: row.code ?? faultRow(kind).code,
      message: isRequestError && message !== '' ? hideAccountIds(message) : MESSAGES[kind],
      status: isRequestError ? status : undefined,
      param: isRequestError ? maybeString(wire.param) : undefined,
      retryAfterMs: kind === 'rate_limited' ? retryDelayInMessage(message) : undefined,
    }),
  };
}

/** With these codes a failed response is a refusal of the content, which is a reply rather than an error. */
export const isPolicyViolation = (wire: JsonObject): boolean => isPolicyCode(maybeString(wire.code) ?? '');

const MESSAGES: Readonly<Record<FaultKind, string>> = {
  request: 'The provider rejected the request.',
  opaque_rejected: 'Encrypted reasoning in the request was rejected by the provider.',
  model: 'The model is not available.',
  forbidden: 'The provider refused the request.',
  rate_limited: 'The provider is rate limiting requests.',
  quota_exhausted: 'No upstream account is available.',
  credential: 'No upstream account is available.',
  overloaded: 'The provider is overloaded.',
  unreachable: 'The provider could not be reached.',
  failed: 'The provider failed.',
  timeout: 'The provider did not respond in time.',
  oversized: "The provider's response is too large.",
  truncated: 'The provider ended its response before it was complete.',
  option_rejected: 'The provider rejected an option that the gateway added.',
  no_result: 'The provider sent no result.',
  cannot_count: 'The account cannot count tokens.',
};

/** Providers quote the ids of accounts, projects and keys in their messages. */
const hideAccountIds = (message: string): string =>
  message.replace(/\b(?:org|proj|user|sk)-[\w-]{6,}(?:\*+\w*)?/g, '[hidden]');

function retryDelayInMessage(message: string): number | undefined {
  const match = /try again in (\d+(?:\.\d+)?)\s*(ms|s)\b/i.exec(message);
  return match ? Math.ceil(Number(match[1]) * (match[2] === 'ms' ? 1 : 1000)) : undefined;
}

const STREAM_CODES: Partial<Record<ErrorCode, string>> = {
  insufficient_balance: 'insufficient_quota',
  invalid_request: 'invalid_prompt',
  invalid_value: 'invalid_prompt',
  unsupported_parameter: 'invalid_prompt',
  content_policy_violation: 'invalid_prompt',
  context_length_exceeded: 'context_length_exceeded',
  invalid_encrypted_content: 'invalid_encrypted_content',
  previous_response_not_found: 'previous_response_not_found',
  rate_limit_exceeded: 'rate_limit_exceeded',
  server_is_overloaded: 'server_is_overloaded',
  shutting_down: 'server_is_overloaded',
};

/** The `error` of a failed response. */
export function encodeStreamError(error: HubError): JsonObject {
  return { code: STREAM_CODES[error.code] ?? 'server_error', message: streamErrorMessage(error) };
}

/** Agents match the first two messages: they compact the conversation, or wait as long as the message says. */
function streamErrorMessage(error: HubError): string {
  if (error.code === 'context_length_exceeded') {
    return 'Your input exceeds the context window of this model. Please adjust your input and try again.';
  }
  if (
    error.code === 'rate_limit_exceeded' &&
    error.retryAfterMs !== undefined &&
    retryDelayInMessage(error.message) === undefined
  ) {
    return `${error.message} Please try again in ${Math.round(error.retryAfterMs / 100) / 10}s.`;
  }
  return error.message;
}
