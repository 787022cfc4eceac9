/**
 * Errors in both directions, classified by status, name and details.
 * Provider messages reach the client only for its own request.
 */
import { sentence, valueOfJson } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';
import type { UpstreamFailure } from '../codec.ts';
import { accountFault, type Fault, withProviderCode } from '../errors/fault.ts';
import { retryAfterMs } from '../errors/retry-after.ts';
import type { HubError, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeList, maybeNumber, maybeObject, maybeString, tableOf } from '../wire/read.ts';

export function decodeError(response: UpstreamFailure): Fault {
  const parsed = parseError(errorOf(response.body));
  const headerMs = retryAfterMs(response.headers);
  const fault = classify({ status: response.status, ...parsed, ...(headerMs !== undefined && { headerMs }) });
  return withProviderCode(fault, ...parsed.reasons, parsed.statusName);
}

export function decodeStreamError(error: JsonObject): Fault {
  const parsed = parseError(error);
  const status = maybeNumber(error.code) ?? STATUS_OF_NAME.get(parsed.statusName) ?? 500;
  return classify({ status, ...parsed });
}

/**
 * Accepts an object or, from the streaming method, a list with one
 * object. Returns an empty object for other bodies.
 */
function errorOf(body: string): JsonObject {
  const value = valueOfJson(body);
  return maybeObject(maybeObject(Array.isArray(value) ? value[0] : value).error);
}

interface ParsedError {
  readonly status: number;
  readonly statusName: string;
  readonly message: string;
  readonly reasons: readonly string[];
  readonly quotas: readonly string[];
  readonly field?: string;
  readonly retryMs?: number;
  readonly headerMs?: number;
}

function parseError(error: JsonObject): Omit<ParsedError, 'status'> {
  const details = maybeList(error.details).filter(isObject);
  const message = maybeString(error.message) ?? '';
  const retry = details.find((detail) => isType(detail, 'RetryInfo'));
  const retryMs = secondsToMs(maybeString(retry?.retryDelay)) ?? secondsToMs(RETRY_IN.exec(message)?.[1]);
  const violationsIn = (type: string, member: string): readonly JsonObject[] =>
    details.filter((detail) => isType(detail, type)).flatMap((detail) => maybeList(detail[member]).filter(isObject));
  const field = maybeString(violationsIn('BadRequest', 'fieldViolations')[0]?.field);
  return {
    statusName: maybeString(error.status) ?? '',
    message,
    reasons: details.map((detail) => maybeString(detail.reason) ?? ''),
    quotas: violationsIn('QuotaFailure', 'violations').map((violation) => maybeString(violation.quotaId) ?? ''),
    ...(field !== undefined && { field }),
    ...(retryMs !== undefined && { retryMs }),
  };
}

const RETRY_IN = /retry in ([\d.]+s)/i;
const isType = (detail: JsonObject, name: string): boolean =>
  String(detail['@type'] ?? '').endsWith(`google.rpc.${name}`);

/** Parses `34.07s` or `12`. */
function secondsToMs(text: string | undefined): number | undefined {
  const match = text === undefined ? null : /^(\d+(?:\.\d+)?)s?$/.exec(text.trim());
  return match === null ? undefined : Math.ceil(Number(match[1]) * 1000);
}

const STATUS_OF_NAME = tableOf({
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
});

function classify(parsed: ParsedError): Fault {
  const { status, statusName, message, reasons, quotas } = parsed;
  const { kind, code } = rules.providerErrorRow('generate', {
    status,
    codes: [statusName, ...reasons, ...quotas],
    message,
    // A body without a Google error comes from a proxy in front of the provider.
    isOwn: statusName !== '' || message !== '',
  });
  if (kind === 'opaque_rejected')
    return { kind, error: { code: rules.faultRow(kind).code, message: INVALID_SIGNATURE, status: 400 } };
  if (kind === 'request') return requestFault(parsed, code ?? 'invalid_request');
  const waitMs = kind === 'rate_limited' || kind === 'overloaded' ? (parsed.retryMs ?? parsed.headerMs) : undefined;
  return accountFault(kind, ACCOUNT_MESSAGES[kind] ?? sentence(rules.faultRow(kind).means), waitMs);
}

function requestFault(parsed: ParsedError, code: rules.ErrorCode): Fault {
  return {
    kind: 'request',
    error: compact({
      code,
      message: parsed.message || `The provider rejected the request with status ${parsed.status}.`,
      status: parsed.status,
      param: parsed.field,
    }),
  };
}

/** Messages that do not mention accounts, which clients cannot see. */
const ACCOUNT_MESSAGES: Partial<Record<rules.FaultKind, string>> = {
  model: 'The provider does not offer this model.',
  forbidden: 'The provider refused the request.',
  rate_limited: 'The provider rate limit is reached.',
  quota_exhausted: 'The provider is unavailable at the moment.',
  credential: 'The provider is unavailable at the moment.',
};

const INVALID_SIGNATURE = 'Thought signature is not valid.';

/** Returns the error object, which is both the HTTP body and the in-stream chunk. */
export function encodeError(error: HubError): JsonObject {
  const row = rules.errorRow(error.code);
  const code = error.status ?? row.statusIn?.generate ?? rules.usualStatus(row);
  const wait = error.retryAfterMs === undefined ? undefined : `${error.retryAfterMs / 1000}s`;
  const details = [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: error.code },
    ...(wait === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: wait }]),
  ];
  const message = (CLIENT_MESSAGES[error.code] ?? ((text) => text))(error.message, wait);
  return { error: { code, message, status: rules.errorType('generate', code), details } };
}

/** Messages that clients match on. */
const CLIENT_MESSAGES: Partial<Record<rules.ErrorCode, (message: string, wait: string | undefined) => string>> = {
  context_length_exceeded(message) {
    if (message.startsWith('The input token count')) return message;
    const [count, max] = [tokenCountIn(message, 0), tokenCountIn(message, 1)];
    return `The input token count${count} exceeds the maximum number of tokens allowed${max}.`;
  },
  rate_limit_exceeded: (message, wait) =>
    wait === undefined || /retry in/i.test(message) ? message : `${message} Please retry in ${wait}.`,
  invalid_encrypted_content: () => INVALID_SIGNATURE,
};

/**
 * Finds the n-th token count in a text such as "210000 tokens >
 * 200000 maximum". Ignores numbers of up to three digits.
 */
function tokenCountIn(message: string, n: number): string {
  const found = message.slice(0, 500).match(/\b\d{4,9}\b/g);
  return found?.length === 2 ? ` (${found[n]})` : '';
}
