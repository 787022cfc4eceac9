/** A failure in the caller's own dialect: the body is chosen by the path, the words come from the tables in rules/errors.ts. */
import type { ApiError } from '../core/index.ts';
import { wordingFor } from '../dialects/index.ts';
import { type ErrorFormat, errorRow, errorType } from '../rules/index.ts';
import type { RenderError, RenderedError } from '../web/index.ts';

interface Said {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly message: string;
  readonly param: string | undefined;
  readonly reason: string | undefined;
  readonly retryAfter: number | undefined;
  readonly requestId: string;
}

const BODY: Readonly<Record<ErrorFormat, (said: Said) => unknown>> = {
  messages: ({ type, message, code, reason, requestId }) => ({
    type: 'error',
    error: { type, message, code, ...(reason !== undefined && { details: { error_code: reason } }) },
    request_id: requestId,
  }),
  openai: ({ type, message, code, param }) => ({ error: { message, type, code, param: param ?? null } }),
  video: ({ type, message, code }) => ({ error: { message, type, code } }),
  generate: ({ status, type, message, code, retryAfter }) => ({
    error: {
      code: status,
      message,
      status: type,
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code },
        ...(retryAfter === undefined
          ? []
          : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` }]),
      ],
    },
  }),
};

export const renderError: RenderError = (error, { envelope, id }): RenderedError => {
  const said = formatError(error, envelope, id);
  return { status: said.status, headers: headersOf(error, said, envelope), body: BODY[envelope](said) };
};

function formatError(error: ApiError, envelope: ErrorFormat, requestId: string): Said {
  const row = errorRow(error.code);
  const usual = typeof row.status === 'number' ? row.status : row.status[0];
  const status = row.statusIn?.[envelope] ?? error.details.status ?? usual;
  return {
    status,
    type: row.typeIn?.[envelope] ?? errorType(envelope, status),
    // Document 2 calls a body that is too large an invalid request (V 7).
    code: envelope === 'video' && error.code === 'request_too_large' ? 'invalid_request' : error.code,
    message: worded(error, envelope),
    param: error.details.param,
    reason: error.details.reason,
    retryAfter: error.details.retryAfter,
    requestId,
  };
}

/** Clients match on a few sentences; those are the dialect's own, every other is ours. */
function worded({ code, message, details: { param, retryAfter } }: ApiError, envelope: ErrorFormat): string {
  if (envelope === 'video') return message;
  return wordingFor(envelope, {
    code,
    message,
    ...(param !== undefined && { param }),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter * 1000 }),
  });
}

/** SDKs retry 408, 409, 429 and 5xx by themselves unless they are told not to; those who may, are told when. */
function headersOf(error: ApiError, { status, retryAfter }: Said, envelope: ErrorFormat): Record<string, string> {
  const wait = retryAfter ?? (status === 429 || status === 503 || status === 529 ? 1 : undefined);
  return {
    ...error.details.headers,
    ...(errorRow(error.code).retry === false && { 'x-should-retry': 'false' }),
    ...(wait !== undefined && { 'retry-after': String(Math.max(1, Math.ceil(wait))) }),
    // The SDKs of this family prefer the exact figure.
    ...(wait !== undefined && envelope === 'openai' && { 'retry-after-ms': String(Math.ceil(wait * 1000)) }),
  };
}
