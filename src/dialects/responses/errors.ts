/**
 * Failures of an upstream: what they mean for the account (HTTP form) and for the caller (both forms), and how our own errors
 * are worded in a stream of this dialect. Words about our accounts never reach a caller.
 */
import { type ErrorCode, type FaultKind, faultRow } from '../../rules/index.ts';
import type { UpstreamFailure } from '../codec.ts';
import type { Fault } from '../errors/fault.ts';
import type { HubError, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeString } from '../wire/read.ts';

export function decodeError(failure: UpstreamFailure): Fault {
  const wire = bodyOf(failure.body);
  if (!wire) return unsaid(failure);
  const told = readError(wire, failure.status);
  const restMs = waitOf(failure.headers) ?? told.error.retryAfterMs;
  const waits = told.kind === 'rate_limited' || told.kind === 'overloaded';
  return {
    kind: told.kind,
    error: waits && restMs !== undefined ? { ...told.error, retryAfterMs: restMs } : told.error,
    ...(restMs !== undefined && { restMs }),
  };
}

/** The `error` object, flat or nested; undefined for HTML and other bodies that are none of this dialect's. */
function bodyOf(body: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (!isObject(value)) return undefined;
    if (isObject(value.error)) return value.error;
    if (maybeString(value.error)) return { message: value.error };
    return maybeString(value.message) === undefined && maybeString(value.code) === undefined ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Something in front of the provider spoke; its status alone tells, and never that the request or the model is wrong. */
function unsaid({ status, headers }: UpstreamFailure): Fault {
  const row = byStatus(status);
  const { kind, code } = row.kind === 'request' && row.code === undefined ? BROKEN : row;
  const restMs = waitOf(headers);
  const kept = kind === 'request' ? { status } : {};
  return {
    kind,
    error: { code: code ?? faultRow(kind).code, message: MESSAGES[kind], ...kept },
    ...(restMs !== undefined && { restMs }),
  };
}

export interface ReadError {
  readonly kind: FaultKind;
  readonly error: HubError;
}

/** An error object of the wire, whether it came as a body, as an event or inside a failed response. */
export function readError(wire: JsonObject, status?: number): ReadError {
  const code = maybeString(wire.code) ?? '';
  const type = maybeString(wire.type) ?? '';
  const message = maybeString(wire.message) ?? '';
  const row = CODES.get(code) ?? byWords(message) ?? CODES.get(type) ?? byStatus(status, type);
  // A model that this account may not use is another matter than a credential that is refused.
  const kind = row.kind === 'credential' && /model|country/i.test(code) ? 'model' : row.kind;
  const own = kind === 'request' || kind === 'opaque_rejected';
  return {
    kind,
    error: compact({
      code: row.code ?? faultRow(kind).code,
      message: own && message !== '' ? scrub(message) : MESSAGES[kind],
      status: own ? status : undefined,
      param: own ? maybeString(wire.param) : undefined,
      retryAfterMs: kind === 'rate_limited' ? waitIn(message) : undefined,
    }),
  };
}

interface CodeRow {
  readonly kind: FaultKind;
  readonly code?: ErrorCode;
}
const request = (code: ErrorCode): CodeRow => ({ kind: 'request', code });
const CODES: ReadonlyMap<string, CodeRow> = new Map<string, CodeRow>([
  ['context_length_exceeded', request('context_length_exceeded')],
  ['string_above_max_length', request('invalid_value')],
  ['invalid_value', request('invalid_value')],
  ['unsupported_parameter', request('unsupported_parameter')],
  ['unsupported_value', request('unsupported_parameter')],
  ['unknown_parameter', request('unsupported_parameter')],
  ['previous_response_not_found', request('previous_response_not_found')],
  ['content_policy_violation', request('content_policy_violation')],
  ['moderation_blocked', request('content_policy_violation')],
  ['invalid_prompt', request('content_policy_violation')],
  ['bio_policy', request('content_policy_violation')],
  ['cyber_policy', request('content_policy_violation')],
  ['misalignment_policy_violation', request('content_policy_violation')],
  ['invalid_encrypted_content', { kind: 'opaque_rejected' }],
  ['model_not_found', { kind: 'model' }],
  ['unsupported_country_region_territory', { kind: 'model' }],
  ['rate_limit_exceeded', { kind: 'rate_limited' }],
  ['rate_limit_error', { kind: 'rate_limited' }],
  ['insufficient_quota', { kind: 'quota_exhausted' }],
  ['credit_balance_exhausted', { kind: 'quota_exhausted' }],
  ['usage_not_included', { kind: 'quota_exhausted' }],
  ['invalid_api_key', { kind: 'credential' }],
  ['server_is_overloaded', { kind: 'overloaded' }],
  ['slow_down', { kind: 'overloaded' }],
  ['service_unavailable_error', { kind: 'overloaded' }],
]);

/** Codes under which a failed response is the provider's refusal of the content, and so an answer. */
export const isPolicy = (wire: JsonObject): boolean =>
  CODES.get(maybeString(wire.code) ?? '')?.code === 'content_policy_violation';

const WORDS: readonly (readonly [RegExp, CodeRow])[] = [
  [/exceeds the context window|maximum context length/i, request('context_length_exceeded')],
  [/encrypted content|without its required following item|items are not persisted/i, { kind: 'opaque_rejected' }],
  [/the model .{0,200}(does not exist|not found)/i, { kind: 'model' }],
];
const byWords = (message: string): CodeRow | undefined => WORDS.find(([words]) => words.test(message))?.[1];

const REQUEST: CodeRow = { kind: 'request' };
const BROKEN: CodeRow = { kind: 'failed' };
const STATUSES: Readonly<Record<number, CodeRow>> = {
  401: { kind: 'credential' },
  402: { kind: 'quota_exhausted' },
  403: { kind: 'credential' },
  408: BROKEN,
  413: request('request_too_large'),
  429: { kind: 'rate_limited' },
  503: { kind: 'overloaded' },
  504: { kind: 'timeout' },
  529: { kind: 'overloaded' },
};
function byStatus(status: number | undefined, type = ''): CodeRow {
  if (status === undefined) return type === 'invalid_request_error' ? REQUEST : BROKEN;
  return STATUSES[status] ?? (status >= 400 && status < 500 ? REQUEST : BROKEN);
}

const MESSAGES: Readonly<Record<FaultKind, string>> = {
  request: 'The provider refused the request.',
  opaque_rejected: 'Encrypted reasoning in the request was rejected by the provider.',
  model: 'The model is not available.',
  rate_limited: 'The provider is asked too often.',
  quota_exhausted: 'No upstream account can take the request now.',
  credential: 'No upstream account can take the request now.',
  overloaded: 'The provider is overloaded.',
  unreachable: 'The provider could not be reached.',
  failed: 'The provider failed.',
  timeout: 'The provider did not answer in time.',
};

/** Ids of our accounts, projects and keys, which providers like to quote. */
const scrub = (message: string): string => message.replace(/\b(?:org|proj|user|sk)-[\w-]{6,}(?:\*+\w*)?/g, '[hidden]');

function waitOf(headers: UpstreamFailure['headers']): number | undefined {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (ms > 0) return Math.ceil(ms);
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return seconds > 0 ? Math.ceil(seconds * 1000) : undefined;
}

function waitIn(message: string): number | undefined {
  const told = /try again in (\d+(?:\.\d+)?)\s*(ms|s)\b/i.exec(message);
  return told ? Math.ceil(Number(told[1]) * (told[2] === 'ms' ? 1 : 1000)) : undefined;
}

// ---------------------------------------------------------------- our errors, in this dialect's words

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

/** The `error` of a failed response. Clients recognise the first two wordings and act on them. */
export function encodeStreamError(error: HubError): JsonObject {
  return { code: STREAM_CODES[error.code] ?? 'server_error', message: wordingOf(error) };
}

export function wordingOf(error: HubError): string {
  if (error.code === 'context_length_exceeded') {
    return 'Your input exceeds the context window of this model. Please adjust your input and try again.';
  }
  if (error.code === 'rate_limit_exceeded' && error.retryAfterMs !== undefined && waitIn(error.message) === undefined) {
    return `${error.message} Please try again in ${Math.round(error.retryAfterMs / 100) / 10}s.`;
  }
  return error.message;
}
