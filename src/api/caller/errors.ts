/** Error responses in the caller's dialect: the path selects the error format, rules/errors.ts the status and type. */
import type { ApiError } from '../../core/index.ts';
import { errorMessageFor } from '../../dialects/index.ts';
import type { RenderError, RenderedError } from '../../platform/web/index.ts';
import { type ErrorFormat, errorRow, errorType } from '../../rules/index.ts';

type ErrorFacts = ReturnType<typeof formatError>;

const BODY: Readonly<Record<ErrorFormat, (facts: ErrorFacts) => unknown>> = {
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

export const renderError: RenderError = (error, { errorFormat, id }): RenderedError => {
  const facts = formatError(error, errorFormat, id);
  return { status: facts.status, headers: errorHeaders(error, facts, errorFormat), body: BODY[errorFormat](facts) };
};

function formatError(error: ApiError, errorFormat: ErrorFormat, requestId: string) {
  const row = errorRow(error.code);
  const defaultStatus = typeof row.status === 'number' ? row.status : row.status[0];
  const status = row.statusIn?.[errorFormat] ?? error.details.status ?? defaultStatus;
  return {
    status,
    type: row.typeIn?.[errorFormat] ?? errorType(errorFormat, status),
    code: row.codeIn?.[errorFormat] ?? error.code,
    message: messageFor(error, errorFormat),
    param: error.details.param,
    reason: error.details.reason,
    retryAfter: error.details.retryAfter,
    requestId,
  };
}

/** Clients match on a few messages; those are the dialect's own, every other is ours. */
function messageFor({ code, message, details: { param, retryAfter } }: ApiError, errorFormat: ErrorFormat): string {
  if (errorFormat === 'video') return message;
  return errorMessageFor(errorFormat, {
    code,
    message,
    ...(param !== undefined && { param }),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter * 1000 }),
  });
}

/** SDKs retry 408, 409, 429 and 5xx by themselves: `x-should-retry: false` stops them, `retry-after` says when. */
function errorHeaders(error: ApiError, { status, retryAfter }: ErrorFacts, errorFormat: ErrorFormat) {
  const waitSeconds = retryAfter ?? (status === 429 || status === 503 || status === 529 ? 1 : undefined);
  const { retry } = errorRow(error.code);
  return {
    ...error.details.headers,
    ...(retry !== undefined && { 'x-should-retry': String(retry) }),
    ...(waitSeconds !== undefined && { 'retry-after': String(Math.max(1, Math.ceil(waitSeconds))) }),
    // The SDKs of this family prefer the exact figure.
    ...(waitSeconds !== undefined &&
      errorFormat === 'openai' && { 'retry-after-ms': String(Math.ceil(waitSeconds * 1000)) }),
  };
}
