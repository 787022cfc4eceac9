/**
 * Errors of the chat dialect. Only request errors keep the upstream's
 * message: others may name organisations, keys and hosts.
 */
import { fail, valueOfJson } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';
import type { UpstreamFailure } from '../codec.ts';
import { accountFault, type Fault, withProviderCode } from '../errors/fault.ts';
import { retryAfterMs } from '../errors/retry-after.ts';
import type { HubError, JsonObject } from '../hub/types.ts';
import { compact, isObject, maybeObject, maybeString, tableOf } from '../wire/read.ts';

export function decodeError(response: UpstreamFailure): Fault {
  const body = readErrorBody(valueOfJson(response.body));
  const fault = classify({ ...body, status: response.status }, retryAfterMs(response.headers) ?? body.waitMs);
  return withProviderCode(fault, body.code, body.type);
}

/** Decodes an error object inside a stream or a 200 body. It has no HTTP status, so type and code imply one. */
export function decodeErrorObject(value: unknown): HubError {
  const body = readErrorBody(value);
  return classify({ ...body, status: body.status || impliedStatus(body) }, body.waitMs).error;
}

/** The error in a chunk or a 200 body; undefined when it is none. */
export function errorIn(wire: JsonObject): HubError | undefined {
  const hasError = wire.error !== undefined && wire.error !== null;
  if (hasError || wire.object === 'error') return decodeErrorObject(wire);
  const { status_code: code, status_msg: message } = maybeObject(wire.base_resp);
  if (typeof code !== 'number' || code === 0) return undefined;
  return decodeErrorObject({ message, status: BASE_STATUS.get(code) ?? 500 });
}

/** Codes of MiniMax, which responds to most failures with status 200. */
const BASE_STATUS: ReadonlyMap<number, number> = new Map([
  [1002, 429],
  [1004, 401],
  [1008, 402],
  [1026, 400],
  [1039, 429],
  [2013, 400],
]);

export function encodeError(error: HubError): JsonObject {
  const row = rules.errorRow(error.code);
  return {
    error: {
      message: clientMessage(error),
      type: row.typeIn?.openai ?? rules.errorType('openai', error.status ?? rules.usualStatus(row)),
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

/** Reads `{error:{...}}`, `{error:"..."}` or a flat object. All members are empty for HTML and other text. */
function readErrorBody(value: unknown): ErrorBody {
  const body = maybeObject(value);
  const inner = isObject(body.error) ? body.error : body;
  const message =
    maybeString(inner.message) ??
    maybeString(body.error) ??
    detailText(body.detail ?? maybeObject(inner.message).detail) ??
    (typeof value === 'string' ? value : '');
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

/** `detail` of servers built with FastAPI: a list of invalid fields. As a text it says that the path is unknown. */
function detailText(detail: unknown): string | undefined {
  if (!Array.isArray(detail)) return undefined;
  const texts = detail.slice(0, MAX_DETAILS).map((one) => {
    const { loc, msg } = maybeObject(one);
    const path = Array.isArray(loc) ? loc.filter((part) => part !== 'body').join('.') : '';
    return `${path}: ${String(msg)}`;
  });
  return texts.join('; ');
}
const MAX_DETAILS = 16;

/** By type, or by code. */
const STATUS_OF = tableOf({
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  service_unavailable_error: 503,
  overloaded_error: 503,
});
const impliedStatus = ({ type, code }: ErrorBody): number => STATUS_OF.get(type) ?? STATUS_OF.get(code) ?? 500;

const WAIT = /try again in (\d+(?:\.\d+)?)(ms|s)/;
function waitFromMessage(message: string): number | undefined {
  const found = WAIT.exec(message.slice(0, 2000));
  return found ? Math.ceil(Number(found[1]) * (found[2] === 's' ? 1000 : 1)) : undefined;
}

/** False for a page of a proxy in front of the provider, which says nothing about the request or the model. */
const hasErrorBody = (body: ErrorBody): boolean => body.message !== '' || body.code !== '' || body.type !== '';

function classify(body: ErrorBody, waitMs: number | undefined): Fault {
  const { status, code: name, type, message } = body;
  // Some providers send an empty object with 402.
  const isOwn = status === 402 ? body.isJson : hasErrorBody(body);
  const rule = rules.providerErrorRow('chat', { status, codes: [name, type], message, isOwn });
  const code = rule.code ?? rules.faultRow(rule.kind).code;
  if (rule.kind === 'request' || rule.kind === 'opaque_rejected') {
    const text = message || defaultMessage(code);
    return {
      kind: rule.kind,
      error: compact({ code, message: text, status: clientStatus(body.status), param: body.param }),
    };
  }
  return accountFault(rule.kind, defaultMessage(code), waitMs, code);
}

const clientStatus = (status: number): number | undefined => (status >= 400 && status < 500 ? status : undefined);
const defaultMessage = (code: rules.ErrorCode): string => fail(code).message;
