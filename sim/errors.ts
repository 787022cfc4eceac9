/** Error bodies of the three providers. */
import type { Fault } from './faults.ts';
import type { Json, JsonObject } from './json.ts';
import { RETRY_AFTER, type RetryAfterWord } from './retry-after.ts';

/** The three families of error bodies. */
export type Shape = 'openai' | 'anthropic' | 'google';

interface Extra {
  type?: string;
  code?: string;
  param?: string;
  details?: Json[];
  /** Anthropic's `details.error_code`. */
  errorCode?: string;
  headers?: Record<string, string>;
  /** The whole body, for servers with a form of their own. */
  whole?: JsonObject;
}

/** An error response; its body format is chosen when it is sent. */
export class Failure extends Error {
  readonly status: number;
  readonly extra: Extra;

  constructor(status: number, message: string, extra: Extra = {}) {
    super(message);
    this.status = status;
    this.extra = extra;
  }
}

export function invalid(message: string, param?: string, code?: string): Failure {
  return new Failure(400, message, { ...(param !== undefined && { param }), ...(code !== undefined && { code }) });
}

/**
 * By status: the types of Anthropic and of OpenAI with its code, and the status of Google. A dash stands for no code.
 */
const NAMES = new Map(
  `400 invalid_request_error invalid_request_error invalid_value INVALID_ARGUMENT
401 authentication_error invalid_request_error invalid_api_key UNAUTHENTICATED
402 billing_error insufficient_quota credit_balance_exhausted RESOURCE_EXHAUSTED
403 permission_error permission_error unsupported_country_region_territory PERMISSION_DENIED
404 not_found_error invalid_request_error model_not_found NOT_FOUND
408 timeout_error server_error timeout DEADLINE_EXCEEDED
409 conflict_error invalid_request_error conflict ABORTED
413 request_too_large invalid_request_error request_too_large INVALID_ARGUMENT
422 invalid_request_error invalid_request_error unprocessable_entity INVALID_ARGUMENT
429 rate_limit_error rate_limit_error rate_limit_exceeded RESOURCE_EXHAUSTED
502 api_error server_error - UNAVAILABLE
503 api_error service_unavailable_error server_is_overloaded UNAVAILABLE
504 timeout_error server_error timeout DEADLINE_EXCEEDED
529 overloaded_error service_unavailable_error server_is_overloaded UNAVAILABLE`
    .split('\n')
    .map((line) => line.split(' '))
    .map(([status, anthropic = '', openai = '', code = '', google = '']) => [
      Number(status),
      { anthropic, openai, code: code === '-' ? null : code, google },
    ]),
);
/** Of 500, and of statuses that have no names. */
const UNNAMED = { anthropic: 'api_error', openai: 'server_error', code: null, google: 'INTERNAL' };
const namesOf = ({ status }: Failure) => NAMES.get(status) ?? UNNAMED;

export function anthropicError(failure: Failure): JsonObject {
  const { type = namesOf(failure).anthropic, errorCode } = failure.extra;
  return { type, message: failure.message, ...(errorCode !== undefined && { details: { error_code: errorCode } }) };
}

export function openaiError(failure: Failure): {
  message: string;
  type: string;
  param: string | null;
  code: string | null;
} {
  const { openai, code } = namesOf(failure);
  const { extra, message } = failure;
  return { message, type: extra.type ?? openai, param: extra.param ?? null, code: extra.code ?? code };
}

export function googleError(failure: Failure): JsonObject {
  return {
    code: failure.status,
    message: failure.message,
    status: namesOf(failure).google,
    ...(failure.extra.details && { details: failure.extra.details }),
  };
}

export function errorBody(shape: Shape, failure: Failure, requestId: string): JsonObject {
  if (failure.extra.whole) return failure.extra.whole;
  if (shape === 'anthropic') return { type: 'error', error: anthropicError(failure), request_id: requestId };
  return { error: shape === 'google' ? googleError(failure) : openaiError(failure) };
}

/** The failure of a `status=NNN` fault, in the wording of the provider. */
export function statusFailure(shape: Shape, fault: Fault, fallback = 500): Failure {
  const status = fault.status ?? fallback;
  if (status === 429) return rateLimit(shape, fault.retryAfter ?? 12);
  const message =
    status === 529 || status === 503 ? 'Overloaded (simulated)' : `Simulated failure with status ${status}`;
  return new Failure(status, message);
}

function rateLimit(shape: Shape, wait: number | RetryAfterWord): Failure {
  if (typeof wait === 'string') return oddRateLimit(wait);
  const seconds = wait;
  const headers = { 'retry-after': String(seconds) };
  if (shape === 'anthropic') {
    return new Failure(429, "This request would exceed your organization's rate limit (simulated).", { headers });
  }
  if (shape === 'google') {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` }];
    return new Failure(429, `Quota exceeded (simulated). Please retry in ${seconds}s.`, { details });
  }
  return new Failure(429, `Rate limit reached (simulated). Please try again in ${seconds}s.`, {
    headers: { ...headers, 'retry-after-ms': String(seconds * 1000) },
  });
}

function oddRateLimit(wait: RetryAfterWord): Failure {
  const header = RETRY_AFTER[wait]();
  return new Failure(
    429,
    'Too many requests (simulated).',
    header === undefined ? {} : { headers: { 'retry-after': header } },
  );
}

export function contextFailure(shape: Shape): Failure {
  if (shape === 'anthropic') return invalid('prompt is too long: 250000 tokens > 200000 maximum');
  if (shape === 'google') {
    return invalid('The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).');
  }
  const message = 'Your input exceeds the context window of this model. Please adjust your input and try again.';
  return invalid(message, 'input', 'context_length_exceeded');
}

/** An account without credit: a 429 without a retry delay. */
export function quotaFailure(shape: Shape): Failure {
  if (shape === 'anthropic') return new Failure(429, 'Your organization has reached its spend limit (simulated).');
  if (shape === 'google') {
    const violation = { quotaMetric: 'generate_requests', quotaId: 'GenerateRequestsPerDayPerProjectPerModel' };
    const details = [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [violation] }];
    return new Failure(429, 'You exceeded your current quota (simulated).', { details });
  }
  return new Failure(429, 'You exceeded your current quota, please check your plan and billing details.', {
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  });
}

/** Google returns 400 for an unknown key, the others return 401. */
export function keyFailure(shape: Shape): Failure {
  if (shape === 'anthropic') return new Failure(401, 'invalid x-api-key');
  if (shape === 'openai') return new Failure(401, 'Incorrect API key provided (simulated).');
  const details = [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
  ];
  return new Failure(400, 'API key not valid. Please pass a valid API key.', { details });
}

export function modelFailure(shape: Shape, model: string): Failure {
  if (shape === 'anthropic') return new Failure(404, `model: ${model}`);
  if (shape === 'google') return new Failure(404, `models/${model} is not found for API version v1beta.`);
  return new Failure(404, `The model '${model}' does not exist or you do not have access to it.`);
}
