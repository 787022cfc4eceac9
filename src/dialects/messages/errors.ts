/** Errors of this dialect in both directions. Clients match on some messages, so those are kept literally (G 7). */
import { fail, valueOfJson } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';
import type { UpstreamFailure } from '../codec.ts';
import { accountFault, type Fault, withProviderCode } from '../errors/fault.ts';
import { retryAfterMs } from '../errors/retry-after.ts';
import type { HubError, JsonObject } from '../hub/types.ts';
import { maybeObject, maybeString } from '../wire/read.ts';

export function decodeError(failure: UpstreamFailure): Fault {
  const error = maybeObject(maybeObject(valueOfJson(failure.body)).error);
  const waitMs = retryAfterMs(failure.headers);
  const message = maybeString(error.message) || undefined;
  const type = maybeString(error.type);
  const namesTime = waitMs !== undefined || failure.headers['retry-after'] !== undefined;
  const fault = classify(failure.status, message, { type, namesTime, waitMs });
  return withProviderCode(fault, type);
}

/** Decodes the `error` event of a stream, which has a type but no status. */
export function decodeStreamError(event: JsonObject): HubError {
  const error = maybeObject(event.error);
  const type = maybeString(error.type);
  const status = rules.statusOfMessagesError(type ?? '') ?? 500;
  // A stream has no headers that could name a time.
  return classify(status, maybeString(error.message) || undefined, { type, namesTime: true }).error;
}

/** Returns the error object, which is both the HTTP body and the in-stream event. */
export function encodeError(error: HubError, requestId: string): Record<string, unknown> {
  const row = rules.errorRow(error.code);
  const status = row.statusIn?.messages ?? error.status ?? rules.usualStatus(row);
  const type = row.typeIn?.messages ?? rules.errorType('messages', status);
  return {
    type: 'error',
    error: { type, message: (CLIENT_MESSAGES[error.code] ?? unchanged)(error.message), code: error.code },
    request_id: requestId,
  };
}

interface Hints {
  readonly type: string | undefined;
  readonly namesTime: boolean;
  readonly waitMs?: number | undefined;
}

function classify(status: number, message: string | undefined, { type, waitMs, namesTime }: Hints): Fault {
  const { kind, code } = rules.providerErrorRow('messages', {
    status,
    codes: type === undefined ? [] : [type],
    message: message ?? '',
    isOwn: message !== undefined,
    namesTime,
  });
  if (kind !== 'request' && kind !== 'opaque_rejected')
    return accountFault(kind, fail(rules.faultRow(kind).code).message, waitMs);
  const text = (message ?? 'The provider rejected the request.').slice(0, MAX_MESSAGE_CHARS);
  return { kind, error: { code: code ?? rules.faultRow(kind).code, message: text, status } };
}

/** Limit for provider messages, which may quote the request at length. */
const MAX_MESSAGE_CHARS = 2_000;

const unchanged = (message: string): string => message;

/** Messages that agents match on to compact their history or to drop their thinking blocks. */
const CLIENT_MESSAGES: Partial<Record<rules.ErrorCode, (message: string) => string>> = {
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
