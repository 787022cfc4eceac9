/**
 * Errors of the chat dialect: classification of upstream failures, and error bodies for clients. Only request errors keep the
 * upstream's message: other messages may name organisations, keys and hosts of the operator.
 */
import { fail } from '../../core/index.ts';
import { type ErrorCode, errorRow, errorType, type FaultKind, faultRow, isCredentialError } from '../../rules/index.ts';
import type { UpstreamFailure } from '../codec.ts';
import { type Fault, withProviderCode } from '../errors/fault.ts';
import type { HubError, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeObject, maybeString } from '../wire/read.ts';

export function decodeError(response: UpstreamFailure): Fault {
  const body = readErrorBody(parse(response.body));
  const fault = classify({ ...body, status: response.status }, retryAfterMs(response.headers) ?? body.waitMs);
  return withProviderCode(fault, body.code, body.type);
}

/** Decodes an error object inside a stream or a 200 body. It has no HTTP status, so type and code imply one. */
export function decodeErrorObject(value: unknown): HubError {
  const body = readErrorBody(value);
  return classify({ ...body, status: body.status || impliedStatus(body) }, body.waitMs).error;
}

export function encodeError(error: HubError): JsonObject {
  const row = errorRow(error.code);
  const defaultStatus = typeof row.status === 'number' ? row.status : row.status[0];
  return {
    error: {
      message: clientMessage(error),
      type: row.typeIn?.openai ?? errorType('openai', error.status ?? defaultStatus),
      param: error.param ?? null,
      code: error.code,
    },
  };
}

/** Clients match on these two sentences: one makes them compact the conversation, the other wait. */
function clientMessage(error: HubError): string {
  if (error.code === 'context_length_exceeded' && !error.message.includes('context window')) return CONTEXT_MESSAGE;
  if (error.retryAfterMs === undefined || error.message.includes('try again in')) return error.message;
  return `${error.message} Please try again in ${Math.ceil(error.retryAfterMs / 1000)}s.`;
}
const CONTEXT_MESSAGE = 'Your input exceeds the context window of this model. Please adjust your input and try again.';

// ---------------------------------------------------------------- reading

interface ErrorBody {
  /** False for a page of a proxy or firewall. */
  readonly isJson: boolean;
  readonly status: number;
  readonly code: string;
  readonly type: string;
  readonly message: string;
  readonly param?: string;
  readonly waitMs?: number;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Reads `{error:{...}}`, `{error:"..."}` or a flat object. All members are empty for HTML and other text. */
function readErrorBody(value: unknown): ErrorBody {
  const body = maybeObject(value);
  const inner = isObject(body.error) ? body.error : body;
  const message = maybeString(inner.message) ?? maybeString(body.error) ?? (typeof value === 'string' ? value : '');
  // Some proxies put the HTTP status into `code`.
  const status = typeof inner.code === 'number' ? inner.code : Number(inner.status) || 0;
  return {
    isJson: isObject(value),
    status,
    code: maybeString(inner.code) ?? '',
    type: maybeString(inner.type) ?? '',
    message,
    ...compact({ param: maybeString(inner.param), waitMs: waitFromMessage(message) }),
  };
}

const STATUS_OF: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['rate_limit_error', 429],
  ['rate_limit_exceeded', 429],
  ['insufficient_quota', 429],
  ['service_unavailable_error', 503],
  ['overloaded_error', 503],
]);
const impliedStatus = (body: ErrorBody): number => STATUS_OF.get(body.type) ?? STATUS_OF.get(body.code) ?? 500;

const WAIT = /try again in (\d+(?:\.\d+)?)(ms|s)/;
function waitFromMessage(message: string): number | undefined {
  const found = WAIT.exec(message.slice(0, 2000));
  return found ? Math.ceil(Number(found[1]) * (found[2] === 's' ? 1000 : 1)) : undefined;
}

/** Ignores dates, which would need a clock; the pool then uses its default cooldown. */
function retryAfterMs(headers: UpstreamFailure['headers']): number | undefined {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (ms > 0) return Math.ceil(ms);
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return seconds > 0 ? Math.ceil(seconds * 1000) : undefined;
}

// ---------------------------------------------------------------- classification

interface Rule {
  readonly kind: FaultKind;
  /** The error code, for `request` faults. */
  readonly code?: ErrorCode;
  matches(body: ErrorBody): boolean;
}
const hasCode = (body: ErrorBody, ...codes: readonly string[]): boolean =>
  codes.includes(body.code) || codes.includes(body.type);
const messageIncludes = (body: ErrorBody, ...texts: readonly string[]): boolean =>
  texts.some((text) => body.message.includes(text));

/** False for a page of a proxy in front of the provider, which says nothing about the request or the model. */
const hasErrorBody = (body: ErrorBody): boolean => body.message !== '' || body.code !== '' || body.type !== '';

/** The first matching rule applies. */
const RULES: readonly Rule[] = [
  {
    kind: 'request',
    code: 'context_length_exceeded',
    matches: (s) =>
      hasCode(s, 'context_length_exceeded') ||
      messageIncludes(s, 'exceeds the context window', 'maximum context length'),
  },
  {
    kind: 'opaque_rejected',
    matches: (s) =>
      hasCode(s, 'invalid_encrypted_content') ||
      messageIncludes(
        s,
        'Encrypted content item_id did not match',
        'without its required following item',
        'Items are not persisted',
      ) ||
      (s.status === 400 && messageIncludes(s, 'thought_signature', 'hought signature')),
  },
  {
    kind: 'quota_exhausted',
    matches: (s) => (s.status === 402 && s.isJson) || hasCode(s, 'insufficient_quota', 'credit_balance_exhausted'),
  },
  {
    kind: 'overloaded',
    matches: (s) => s.status === 503 || s.status === 529 || hasCode(s, 'slow_down', 'server_is_overloaded'),
  },
  { kind: 'rate_limited', matches: (s) => s.status === 429 || hasCode(s, 'rate_limit_exceeded') },
  {
    kind: 'request',
    code: 'content_policy_violation',
    matches: (s) => hasCode(s, 'content_policy_violation', 'moderation_blocked', 'content_filter'),
  },
  { kind: 'model', matches: (s) => hasCode(s, 'model_not_found', 'unsupported_country_region_territory') },
  { kind: 'request', code: 'invalid_request', matches: (s) => s.status === 404 && /\bfile\b/i.test(s.message) },
  // The account lacks the endpoint or the model; another account may have it.
  { kind: 'model', matches: (s) => s.status === 404 && hasErrorBody(s) },
  {
    kind: 'credential',
    matches: (s) => isCredentialError('openai', { status: s.status, codes: [s.code, s.type], message: s.message }),
  },
  { kind: 'model', matches: (s) => s.status === 403 && /\bmodel\b/i.test(s.message) },
  { kind: 'forbidden', matches: (s) => s.status === 401 || s.status === 402 || s.status === 403 },
  { kind: 'timeout', matches: (s) => s.status === 504 },
  { kind: 'failed', matches: (s) => s.status === 408 || s.status >= 500 },
  { kind: 'request', code: 'request_too_large', matches: (s) => s.status === 413 },
  {
    kind: 'request',
    code: 'unsupported_parameter',
    matches: (s) => hasCode(s, 'unsupported_parameter', 'unsupported_value'),
  },
  { kind: 'request', code: 'invalid_value', matches: (s) => hasCode(s, 'invalid_value', 'string_above_max_length') },
  { kind: 'request', code: 'invalid_request', matches: (s) => s.status >= 400 && hasErrorBody(s) },
];
const OTHERWISE: Rule = { kind: 'failed', matches: () => true };

function classify(body: ErrorBody, waitMs: number | undefined): Fault {
  const rule = RULES.find((one) => one.matches(body)) ?? OTHERWISE;
  const code = rule.code ?? faultRow(rule.kind).code;
  if (rule.kind === 'request' || rule.kind === 'opaque_rejected') {
    const message = body.message || defaultMessage(code);
    return { kind: rule.kind, error: compact({ code, message, status: clientStatus(body.status), param: body.param }) };
  }
  const error: HubError = compact({ code, message: defaultMessage(code), retryAfterMs: waitMs });
  return waitMs === undefined ? { kind: rule.kind, error } : { kind: rule.kind, error, cooldownMs: waitMs };
}

const clientStatus = (status: number): number | undefined => (status >= 400 && status < 500 ? status : undefined);
const defaultMessage = (code: ErrorCode): string => fail(code).message;
