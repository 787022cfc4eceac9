/**
 * Failures of a chat upstream, read into our catalogue, and the in-stream form for chat clients. Only what concerns the
 * request keeps the upstream's words: the other messages name organisations, keys and hosts that are not the caller's.
 */
import { fail } from '../../core/index.ts';
import { type ErrorCode, errorRow, errorType, type FaultKind, faultRow } from '../../rules/index.ts';
import type { UpstreamFailure } from '../codec.ts';
import type { Fault } from '../errors/fault.ts';
import type { HubError, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeObject, maybeString } from '../wire/read.ts';

export function decodeError(response: UpstreamFailure): Fault {
  const said = errorBodyOf(parse(response.body));
  return classify({ ...said, status: response.status }, retryAfterMs(response.headers) ?? said.waitMs);
}

/** An error object inside a stream or inside a 200 body: no status, so its words have to tell. */
export function decodeErrorObject(value: unknown): HubError {
  const said = errorBodyOf(value);
  return classify({ ...said, status: said.status || statusOf(said) }, said.waitMs).error;
}

export function encodeError(error: HubError): JsonObject {
  const row = errorRow(error.code);
  const usual = typeof row.status === 'number' ? row.status : row.status[0];
  return {
    error: {
      message: wording(error),
      type: row.typeIn?.openai ?? errorType('openai', error.status ?? usual),
      param: error.param ?? null,
      code: error.code,
    },
  };
}

/** Clients match on these two sentences: one makes them shorten the conversation, the other wait. */
function wording(error: HubError): string {
  if (error.code === 'context_length_exceeded' && !error.message.includes('context window')) return CONTEXT_WORDS;
  if (error.retryAfterMs === undefined || error.message.includes('try again in')) return error.message;
  return `${error.message} Please try again in ${Math.ceil(error.retryAfterMs / 1000)}s.`;
}
const CONTEXT_WORDS = 'Your input exceeds the context window of this model. Please adjust your input and try again.';

// ---------------------------------------------------------------- reading

interface ErrorBody {
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

/** `{error:{...}}`, `{error:"..."}`, the object itself, or a flat body; HTML and other text say nothing. */
function errorBodyOf(value: unknown): ErrorBody {
  const body = maybeObject(value);
  const inner = isObject(body.error) ? body.error : body;
  const message = maybeString(inner.message) ?? maybeString(body.error) ?? (typeof value === 'string' ? value : '');
  // Relays put the HTTP status where the code belongs.
  const status = typeof inner.code === 'number' ? inner.code : Number(inner.status) || 0;
  return {
    status,
    code: maybeString(inner.code) ?? '',
    type: maybeString(inner.type) ?? '',
    message,
    ...compact({ param: maybeString(inner.param), waitMs: waitIn(message) }),
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
const statusOf = (said: ErrorBody): number => STATUS_OF.get(said.type) ?? STATUS_OF.get(said.code) ?? 500;

const WAIT = /try again in (\d+(?:\.\d+)?)(ms|s)/;
function waitIn(message: string): number | undefined {
  const found = WAIT.exec(message.slice(0, 2000));
  return found ? Math.ceil(Number(found[1]) * (found[2] === 's' ? 1000 : 1)) : undefined;
}

/** A date instead of seconds would need a clock; the pool's own rest is good enough then. */
function retryAfterMs(headers: UpstreamFailure['headers']): number | undefined {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (ms > 0) return Math.ceil(ms);
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return seconds > 0 ? Math.ceil(seconds * 1000) : undefined;
}

// ---------------------------------------------------------------- judging

interface Rule {
  readonly kind: FaultKind;
  /** For `request` faults: which of our codes it is. */
  readonly code?: ErrorCode;
  when(said: ErrorBody): boolean;
}
const has = (said: ErrorBody, ...words: readonly string[]): boolean =>
  words.includes(said.code) || words.includes(said.type);
const says = (said: ErrorBody, ...words: readonly string[]): boolean =>
  words.some((word) => said.message.includes(word));

/** Else it is a page of something in front of the provider, which knows neither the request nor the model. */
const isSaid = (said: ErrorBody): boolean => said.message !== '' || said.code !== '' || said.type !== '';

/** The first that fits. */
const RULES: readonly Rule[] = [
  {
    kind: 'request',
    code: 'context_length_exceeded',
    when: (s) => has(s, 'context_length_exceeded') || says(s, 'exceeds the context window', 'maximum context length'),
  },
  {
    kind: 'opaque_rejected',
    when: (s) =>
      has(s, 'invalid_encrypted_content') ||
      says(
        s,
        'Encrypted content item_id did not match',
        'without its required following item',
        'Items are not persisted',
      ) ||
      (s.status === 400 && says(s, 'thought_signature', 'hought signature')),
  },
  {
    kind: 'quota_exhausted',
    when: (s) => s.status === 402 || has(s, 'insufficient_quota', 'credit_balance_exhausted'),
  },
  {
    kind: 'overloaded',
    when: (s) => s.status === 503 || s.status === 529 || has(s, 'slow_down', 'server_is_overloaded'),
  },
  { kind: 'rate_limited', when: (s) => s.status === 429 || has(s, 'rate_limit_exceeded') },
  {
    kind: 'request',
    code: 'content_policy_violation',
    when: (s) => has(s, 'content_policy_violation', 'moderation_blocked', 'content_filter'),
  },
  { kind: 'model', when: (s) => has(s, 'model_not_found', 'unsupported_country_region_territory') },
  // The account lacks the path or the model; either way another one may have it.
  { kind: 'model', when: (s) => s.status === 404 && isSaid(s) },
  { kind: 'credential', when: (s) => s.status === 401 || s.status === 403 },
  { kind: 'timeout', when: (s) => s.status === 504 },
  { kind: 'failed', when: (s) => s.status === 408 || s.status >= 500 },
  { kind: 'request', code: 'request_too_large', when: (s) => s.status === 413 },
  { kind: 'request', code: 'unsupported_parameter', when: (s) => has(s, 'unsupported_parameter', 'unsupported_value') },
  { kind: 'request', code: 'invalid_value', when: (s) => has(s, 'invalid_value', 'string_above_max_length') },
  { kind: 'request', code: 'invalid_request', when: (s) => s.status >= 400 && isSaid(s) },
];
const OTHERWISE: Rule = { kind: 'failed', when: () => true };

function classify(said: ErrorBody, waitMs: number | undefined): Fault {
  const rule = RULES.find((one) => one.when(said)) ?? OTHERWISE;
  const code = rule.code ?? faultRow(rule.kind).code;
  if (rule.kind === 'request' || rule.kind === 'opaque_rejected') {
    const message = said.message || sentence(code);
    return { kind: rule.kind, error: compact({ code, message, status: clientStatus(said.status), param: said.param }) };
  }
  const error: HubError = compact({ code, message: sentence(code), retryAfterMs: waitMs });
  return waitMs === undefined ? { kind: rule.kind, error } : { kind: rule.kind, error, restMs: waitMs };
}

const clientStatus = (status: number): number | undefined => (status >= 400 && status < 500 ? status : undefined);
const sentence = (code: ErrorCode): string => fail(code).message;
