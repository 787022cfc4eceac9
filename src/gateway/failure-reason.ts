/**
 * What is kept of a provider's error. For the log: names, and its words without what was sent.
 * For operators: account errors.
 */
import { type AccountSecrets, redact } from '../catalog/index.ts';
import { quoteNamesOnly } from '../core/index.ts';
import { type JsonObject, maybeObject, type UpstreamFailure } from '../dialects/index.ts';
import type { UpstreamRequest } from '../providers/upstream/index.ts';
import { errorBodyOf } from './rejected-options/refusal.ts';

/** Codes and types are words; anything else may be text of the caller. */
const NAME = /^[A-Za-z][\w.:-]{0,79}$/;

/**
 * The type, status and code of the error, such as `invalid_request_error/model_not_found`;
 * undefined when the body has none.
 */
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
  const ids = [errorBodyOf(body)?.request_id, ...ID_HEADERS.map((name) => headers[name])];
  return ids.find((id): id is string => typeof id === 'string' && ID.test(id));
}

/** Error bodies are `{ error: { ... } }`, a list with one such object, or the object itself. */
function errorIn(body: string): JsonObject {
  const whole = errorBodyOf(body) ?? {};
  return typeof whole.error === 'object' ? maybeObject(whole.error) : whole;
}

export interface FailedAttempt {
  readonly message: string;
  readonly account: AccountSecrets;
  /** The provider's name for the model. A message that names it quotes nothing else of the request. */
  readonly model: string | undefined;
  readonly sent: UpstreamRequest['body'];
}

/** A longer request is not searched; then nothing of the message is kept. */
const MAX_SEARCHED_BYTES = 256 * 1024;
/** Any quotation of 18 characters contains one of the pieces that are searched for. */
const PIECE_CHARS = 12;
const STEP_CHARS = 6;

/**
 * The provider's words about a failed attempt, for the request log:
 * without secrets, quotations and anything that was sent.
 */
export function providerMessage({ message, account, model, sent }: FailedAttempt): string | undefined {
  const text = quoteNamesOnly(redact(message, { account }).replaceAll(/\s+/g, ' ').trim());
  // Text outside ASCII may stand escaped in the request, where it would not be found.
  if (text === '' || !/^[\x20-\x7e]*$/.test(text)) return undefined;
  const searched = model === undefined ? text : text.replaceAll(model, '');
  return quotes(searched, sent) ? undefined : text.slice(0, MAX_MESSAGE_CHARS);
}

function quotes(message: string, sent: UpstreamRequest['body']): boolean {
  if (sent === null) return false;
  const isText = typeof sent === 'string';
  if (!isText && !Buffer.isBuffer(sent)) return true;
  if (sent.length > MAX_SEARCHED_BYTES) return true;
  for (let start = 0; start + PIECE_CHARS <= message.length && start < MAX_MESSAGE_CHARS; start += STEP_CHARS)
    if (sent.includes(message.slice(start, start + PIECE_CHARS))) return true;
  return false;
}
