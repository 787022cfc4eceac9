/**
 * Why a provider rejected an attempt. For the log: the names in its error body, never its message, which may quote the request. For
 * operators: the message of errors about the account itself.
 */
import { type AccountSecrets, redact } from '../catalog/index.ts';
import { valueOfJson } from '../core/index.ts';
import type { UpstreamFailure } from '../dialects/index.ts';

/** Codes and types are words; anything else may be text of the caller. */
const NAME = /^[A-Za-z][\w.:-]{0,79}$/;

/** The type, status and code of the error, such as `invalid_request_error/model_not_found`; undefined when the body has none. */
export function failureReason(body: string, account: AccountSecrets): string | undefined {
  const error = errorIn(body);
  const names = [error.type, error.status, error.code].filter(
    (name): name is string => typeof name === 'string' && NAME.test(name),
  );
  return names.length === 0 ? undefined : redact([...new Set(names)].join('/'), { account });
}

/** The beginning of a message names the cause. */
const MAX_MESSAGE_CHARS = 300;
/** Keys that the provider masked by itself, and other long tokens. */
const MASKED = /[\w.-]*(?:\*{3,}|\u2026|\.{3})[\w.*-]*|\b[A-Za-z0-9_-]{32,}\b/g;

/** The provider's own words about the account, on one line and without secrets; undefined when the body has none. */
export function failureMessage(body: string, account: AccountSecrets): string | undefined {
  const message = messageIn(body);
  if (message === undefined) return undefined;
  const clean = redact(message.slice(0, 4 * MAX_MESSAGE_CHARS), { account }).replaceAll(MASKED, '[redacted]');
  return clean
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_MESSAGE_CHARS);
}

/** The provider's message as it is, which may quote the request; undefined when the body has none. */
export function messageIn(body: string): string | undefined {
  const { message } = errorIn(body);
  return typeof message === 'string' && message.trim() !== '' ? message : undefined;
}

const ID = /^[\w.:-]{4,128}$/;
/** Providers and clouds name it differently. */
const ID_HEADERS = ['request-id', 'x-request-id', 'x-amzn-requestid', 'apim-request-id'] as const;

/** The provider's id of the request: the one in the body, which a caller may have been sent, or that of a header. */
export function providerRequestId({ headers, body }: UpstreamFailure): string | undefined {
  const ids = [parsed(body).request_id, ...ID_HEADERS.map((name) => headers[name])];
  return ids.find((id): id is string => typeof id === 'string' && ID.test(id));
}

type JsonRecord = Readonly<Record<string, unknown>>;

/** Error bodies are `{ error: { ... } }`, a list with one such object, or the object itself. */
function errorIn(body: string): JsonRecord {
  const whole = parsed(body);
  return typeof whole.error === 'object' ? asRecord(whole.error) : whole;
}

function parsed(body: string): JsonRecord {
  const value = valueOfJson(body);
  return asRecord(Array.isArray(value) ? value[0] : value);
}

const asRecord = (value: unknown): JsonRecord =>
  typeof value === 'object' && value !== null ? (value as JsonRecord) : {};
