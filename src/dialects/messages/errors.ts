/**
 * Failures of a messages upstream read into faults (what the pool does) and errors (what a client is told), and errors of
 * our catalogue said in this dialect. Clients match on some wordings, so those are kept literally (G 7).
 */
import { type ErrorCode, errorRow, errorType, type FaultKind, faultRow } from '../../rules/index.ts';
import type { UpstreamFailure } from '../codec.ts';
import type { Fault } from '../errors/fault.ts';
import type { HubError, JsonObject } from '../hub/types.ts';
import { isObject, maybeObject, maybeString } from '../wire/read.ts';

export function decodeError(failure: UpstreamFailure): Fault {
  const error = maybeObject(parse(failure.body).error);
  const waitMs = retryAfterMs(failure.headers);
  const message = maybeString(error.message) || undefined;
  // A 429 without a time to wait is a spending cap, not a rate.
  const spent = failure.status === 429 && waitMs === undefined && failure.headers['retry-after'] === undefined;
  return classify(failure.status, message, { spent, ...(waitMs !== undefined && { waitMs }) });
}

/** The `error` event of a stream; it carries no status of its own. */
export function decodeStreamError(event: JsonObject): HubError {
  const error = maybeObject(event.error);
  const status = STATUS_OF_TYPE.get(maybeString(error.type) ?? '') ?? 500;
  return classify(status, maybeString(error.message) || undefined, { spent: false }).error;
}

/** The error body of this dialect; the in-stream event and the HTTP body are the same object. */
export function encodeError(error: HubError, requestId: string): Record<string, unknown> {
  const row = errorRow(error.code);
  const usual = typeof row.status === 'number' ? row.status : row.status[0];
  const status = row.statusIn?.messages ?? error.status ?? usual;
  const type = row.typeIn?.messages ?? errorType('messages', status);
  return {
    type: 'error',
    error: { type, message: (WORDING[error.code] ?? plain)(error.message), code: error.code },
    request_id: requestId,
  };
}

const STATUS_OF_TYPE: ReadonlyMap<string, number> = new Map(
  Object.entries<number>({
    invalid_request_error: 400,
    authentication_error: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    conflict_error: 409,
    request_too_large: 413,
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    overloaded_error: 529,
  }),
);

// ---------------------------------------------------------------- reading

interface Hints {
  readonly spent: boolean;
  readonly waitMs?: number;
}

function classify(status: number, message: string | undefined, hints: Hints): Fault {
  // A page of something in front of the provider, which knows neither the request nor the model.
  if (message === undefined && (status === 400 || status === 404 || status === 422))
    return accountFault('failed', hints);
  if (status === 400 || status === 413 || status === 422) return requestFault(status, message);
  if (status === 404) return accountFault('model', hints);
  if (status === 403 && message !== undefined && /\bmodel\b/i.test(message)) return accountFault('model', hints);
  if (status === 429) return accountFault(hints.spent ? 'quota_exhausted' : 'rate_limited', hints);
  return accountFault(KIND_OF_STATUS[status] ?? 'failed', hints);
}

const KIND_OF_STATUS: Readonly<Record<number, FaultKind>> = {
  401: 'credential',
  402: 'quota_exhausted',
  403: 'credential',
  503: 'overloaded',
  504: 'timeout',
  529: 'overloaded',
};

/** Wordings of a 400 that mean more than "the request is wrong"; the first match wins. */
const WORDINGS: readonly { readonly match: RegExp; readonly kind: FaultKind; readonly code: ErrorCode }[] = [
  {
    match: /prompt is too long|input length and `?max_tokens`? exceed/i,
    kind: 'request',
    code: 'context_length_exceeded',
  },
  {
    match: /signature.*thinking|thinking.*signature|redacted_thinking/is,
    kind: 'opaque_rejected',
    code: 'invalid_encrypted_content',
  },
  { match: /content filtering policy/i, kind: 'request', code: 'content_policy_violation' },
  // The operator's money, not the caller's request.
  { match: /credit balance is too low|usage limits/i, kind: 'quota_exhausted', code: 'server_is_overloaded' },
];

function requestFault(status: number, message: string | undefined): Fault {
  const known = status === 400 ? WORDINGS.find((row) => row.match.test(message ?? '')) : undefined;
  if (known?.kind === 'quota_exhausted') return accountFault('quota_exhausted', { spent: true });
  const code = known?.code ?? (status === 413 ? 'request_too_large' : 'invalid_request');
  const text = (message ?? 'The provider refused the request.').slice(0, MAX_MESSAGE_CHARS);
  return { kind: known?.kind ?? 'request', error: { code, message: text, status } };
}

/** What is wrong with our account is told in our own words: the provider's may name it. */
function accountFault(kind: FaultKind, { waitMs }: Hints): Fault {
  const { code } = faultRow(kind);
  const error: HubError = { code, message: `${sentence(errorRow(code).means)}.` };
  return waitMs === undefined ? { kind, error } : { kind, error: { ...error, retryAfterMs: waitMs }, restMs: waitMs };
}

/** A refusal may quote the request; nobody reads more than this of it. */
const MAX_MESSAGE_CHARS = 2_000;

function parse(body: string): JsonObject {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Seconds, or milliseconds under the longer name. A date is not turned into a time to wait: we have no clock here. */
function retryAfterMs(headers: UpstreamFailure['headers']): number | undefined {
  const ms = positive(headers['retry-after-ms']);
  const seconds = positive(headers['retry-after']);
  return ms ?? (seconds === undefined ? undefined : seconds * 1_000);
}

function positive(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

// ---------------------------------------------------------------- writing

const plain = (message: string): string => message;

/** Agents compact their history, or drop their thinking blocks, when they read these words. */
const WORDING: Partial<Record<ErrorCode, (message: string) => string>> = {
  context_length_exceeded(message) {
    if (/prompt is too long|input length and `max_tokens` exceed/.test(message)) return message;
    const [first, second, ...more] = (message.match(/\d{3,}/g) ?? []).map(Number);
    if (first === undefined || second === undefined || first === second || more.length > 0) {
      return 'prompt is too long: the input exceeds the context window of this model';
    }
    return `prompt is too long: ${Math.max(first, second)} tokens > ${Math.min(first, second)} maximum`;
  },
  invalid_encrypted_content: (message) =>
    /Invalid `signature` in `thinking` block/.test(message)
      ? message
      : 'messages: Invalid `signature` in `thinking` block',
};
