/**
 * Failures of the provider, told apart by status, status word and details (never by free text where a code exists), and our
 * own failures in the provider's form. Texts of the provider reach a caller only when the caller's request is at fault.
 */
import { type ErrorCode, errorRow, errorType, type FaultKind, faultRow } from '../../rules/index.ts';
import type { UpstreamFailure } from '../codec.ts';
import type { Fault } from '../errors/fault.ts';
import type { HubError, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeList, maybeNumber, maybeObject, maybeString, own } from '../wire/read.ts';

/** A refusal before the answer began. */
export function decodeError(response: UpstreamFailure): Fault {
  const error = errorOf(response.body);
  const headerMs = secondsToMs(response.headers['retry-after']);
  return classify({ status: response.status, ...read(error), ...(headerMs !== undefined && { headerMs }) });
}

/** `{"error": {...}}` in the middle of a stream. */
export function decodeStreamError(error: JsonObject): Fault {
  const seen = read(error);
  const status = maybeNumber(error.code) ?? own(STATUS_OF_WORD, seen.word) ?? 500;
  return classify({ status, ...seen });
}

/** The body may be an object or, from the streaming method, a list with one object in it. HTML and the like yield nothing. */
function errorOf(body: string): JsonObject {
  try {
    const value: unknown = JSON.parse(body);
    return maybeObject(maybeObject(Array.isArray(value) ? value[0] : value).error);
  } catch {
    return {};
  }
}

interface Seen {
  readonly status: number;
  readonly word: string;
  readonly message: string;
  readonly reasons: readonly string[];
  readonly quotas: readonly string[];
  readonly field?: string;
  readonly retryMs?: number;
  readonly headerMs?: number;
}

function read(error: JsonObject): Omit<Seen, 'status'> {
  const details = maybeList(error.details).filter(isObject);
  const message = maybeString(error.message) ?? '';
  const retry = details.find((detail) => isType(detail, 'RetryInfo'));
  const retryMs = secondsToMs(maybeString(retry?.retryDelay)) ?? secondsToMs(RETRY_IN.exec(message)?.[1]);
  const violations = details
    .filter((detail) => isType(detail, 'QuotaFailure'))
    .flatMap((detail) => maybeList(detail.violations).filter(isObject));
  const fields = details
    .filter((detail) => isType(detail, 'BadRequest'))
    .flatMap((detail) => maybeList(detail.fieldViolations).filter(isObject));
  const field = maybeString(fields[0]?.field);
  return {
    word: maybeString(error.status) ?? '',
    message,
    reasons: details.map((detail) => maybeString(detail.reason) ?? ''),
    quotas: violations.map((violation) => maybeString(violation.quotaId) ?? ''),
    ...(field !== undefined && { field }),
    ...(retryMs !== undefined && { retryMs }),
  };
}

const RETRY_IN = /retry in ([\d.]+s)/i;
const isType = (detail: JsonObject, name: string): boolean =>
  String(detail['@type'] ?? '').endsWith(`google.rpc.${name}`);

/** `34.07s` or `12`; anything else is no delay. */
function secondsToMs(text: string | undefined): number | undefined {
  const match = text === undefined ? null : /^(\d+(?:\.\d+)?)s?$/.exec(text.trim());
  return match === null ? undefined : Math.ceil(Number(match[1]) * 1000);
}

const STATUS_OF_WORD: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  CANCELLED: 499,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

function classify(seen: Seen): Fault {
  const { status } = seen;
  if (status === 413) return request(seen, 'request_too_large');
  if (status === 400 && isSaid(seen)) return badRequest(seen);
  if (status === 429) return tooMany(seen);
  if (status === 401) return account('credential');
  if (status === 403) return account(/\bmodels?\b/i.test(seen.message) ? 'model' : 'credential');
  if (status === 404 && isSaid(seen)) return account('model');
  if (status === 402) return account('quota_exhausted');
  if (status === 503) return account('overloaded', seen);
  if (status === 504) return account('timeout');
  if (status === 408 || status === 499 || status >= 500 || status < 400) return account('failed');
  return isSaid(seen) ? request(seen, 'invalid_request') : account('failed');
}

/** Else it is a page of something in front of the provider, which knows neither the request nor the model. */
const isSaid = ({ word, message }: Seen): boolean => word !== '' || message !== '';

function badRequest(seen: Seen): Fault {
  // The provider reports a bad credential of ours as a bad argument, and a country or billing problem as a precondition.
  const ours =
    seen.reasons.some((reason) => reason.startsWith('API_KEY_')) || /api key (not valid|expired)/i.test(seen.message);
  if (ours || seen.word === 'FAILED_PRECONDITION') return account('credential');
  if (/input token count.*exceeds the maximum/is.test(seen.message)) return request(seen, 'context_length_exceeded');
  if (/thought[ _]?signature/i.test(seen.message)) {
    return {
      kind: 'opaque_rejected',
      error: { code: 'invalid_encrypted_content', message: SIGNATURE_REFUSED, status: 400 },
    };
  }
  return request(seen, 'invalid_request');
}

function tooMany(seen: Seen): Fault {
  if (seen.quotas.some((quota) => quota.includes('PerDay'))) return account('quota_exhausted');
  return account('rate_limited', seen);
}

function request(seen: Seen, code: ErrorCode): Fault {
  return {
    kind: 'request',
    error: compact({
      code,
      message: seen.message || `The provider refused the request with status ${seen.status}.`,
      status: seen.status,
      param: seen.field,
    }),
  };
}

/** The account's trouble, not the caller's: told in our own words. */
function account(kind: FaultKind, seen?: Seen): Fault {
  const row = faultRow(kind);
  const waitMs = seen?.retryMs ?? seen?.headerMs;
  const message = `${row.means.charAt(0).toUpperCase()}${row.means.slice(1)}.`;
  return {
    kind,
    error: compact({ code: row.code, message: TOLD[kind] ?? message, retryAfterMs: waitMs }),
    ...(waitMs !== undefined && { restMs: waitMs }),
  };
}

/** Accounts are no concern of the caller's, so these say what the caller can know. */
const TOLD: Partial<Record<FaultKind, string>> = {
  model: 'The provider does not offer this model.',
  rate_limited: 'The provider is asked too often.',
  quota_exhausted: 'The provider cannot take the request now.',
  credential: 'The provider cannot take the request now.',
};

const SIGNATURE_REFUSED = 'Thought signature is not valid.';

/** One of our errors as the provider would say it; also the form inside a stream. */
export function encodeError(error: HubError): JsonObject {
  const row = errorRow(error.code);
  const usual = typeof row.status === 'number' ? row.status : row.status[0];
  const code = error.status ?? row.statusIn?.generate ?? usual;
  const wait = error.retryAfterMs === undefined ? undefined : `${error.retryAfterMs / 1000}s`;
  const details = [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: error.code },
    ...(wait === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: wait }]),
  ];
  const message = (WORDS[error.code] ?? ((text) => text))(error.message, wait);
  return { error: { code, message, status: errorType('generate', code), details } };
}

/** Clients match on these wordings. */
const WORDS: Partial<Record<ErrorCode, (message: string, wait: string | undefined) => string>> = {
  context_length_exceeded: (message) =>
    message.startsWith('The input token count')
      ? message
      : `The input token count${numberIn(message, 0)} exceeds the maximum number of tokens allowed${numberIn(message, 1)}.`,
  rate_limit_exceeded: (message, wait) =>
    wait === undefined || /retry in/i.test(message) ? message : `${message} Please retry in ${wait}.`,
  invalid_encrypted_content: () => SIGNATURE_REFUSED,
};

/** The n-th token count of a text such as "210000 tokens > 200000 maximum"; years and digits of names are shorter. */
function numberIn(message: string, n: number): string {
  const found = message.slice(0, 500).match(/\b\d{4,9}\b/g);
  return found?.length === 2 ? ` (${found[n]})` : '';
}
