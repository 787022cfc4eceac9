/** Errors of the video provider: codes, statuses and the JSON body. */
import { JSON_TYPE, type Reply } from './reply.ts';

/** An error response, thrown by handlers. */
export class VideoFailure extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string;

  constructor(code: string, message = defaultMessage(code), { status = statusOf(code), param = '' } = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/**
 * Codes by the status of errors whose code begins with one of them. The longest one that fits decides; 400 without one.
 */
const PREFIXES_BY_STATUS: Readonly<Record<number, string>> = {
  401: 'AuthenticationError InvalidAccountStatus SignatureDoesNotMatch InvalidAccessKeyId',
  403: 'AccountOverdueError AccessDenied OperationDenied SubscriptionRequired',
  404: 'NotFound InvalidEndpointOrModel ModelNotOpen InvalidActionOrVersion',
  409: 'TaskRunningCannotCancel',
  413: 'RequestEntityTooLarge',
  429:
    'RateLimitExceeded ModelAccount APIAccountRpmRateLimitExceeded AccountRateLimitExceeded QuotaExceeded ServerOverloaded ' +
    'RequestBurstTooFast SetLimitExceeded InflightBatchsizeExceeded RequestLimitExceeded Throttling',
  500: 'InternalServiceError',
};
const STATUS_BY_PREFIX = new Map(
  Object.entries(PREFIXES_BY_STATUS).flatMap(([status, prefixes]) =>
    prefixes.split(' ').map((prefix) => [prefix, Number(status)]),
  ),
);

const CODE_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'InvalidParameter',
  401: 'AuthenticationError',
  403: 'AccessDenied',
  404: 'NotFound.task_id',
  409: 'TaskRunningCannotCancel',
  429: 'RateLimitExceeded.EndpointRPMExceeded',
  500: 'InternalServiceError',
};

const TYPE_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  413: 'RequestEntityTooLarge',
  429: 'TooManyRequests',
};

const SENSITIVE = /^(Input|Output)(Text|Image|Video|Audio)SensitiveContentDetected(?:\.(\w+))?/;

export const missing = (param: string): VideoFailure =>
  new VideoFailure('MissingParameter', `The request failed because it is missing \`${param}\` parameter.`, { param });

export const invalid = (param: string, why: string, code = 'InvalidParameter'): VideoFailure =>
  new VideoFailure(code, `The parameter \`${param}\` specified in the request is not valid: ${why}.`, { param });

export const unsupported = (param: string): VideoFailure =>
  invalid(param, 'the model does not support it', 'InvalidParameter.UnsupportedParameter');

/** The kind of input that a code blames, such as `image`; undefined for other codes. */
export function blamedInput(code: string): string | undefined {
  const [, direction, kind] = SENSITIVE.exec(code) ?? [];
  return direction === 'Input' ? kind?.toLowerCase() : undefined;
}

function failureReply(failure: VideoFailure, requestId: string): Reply {
  const error = {
    code: failure.code,
    message: withRequestId(failure.message, requestId),
    param: failure.param,
    type: TYPE_BY_STATUS[failure.status] ?? 'InternalServerError',
  };
  return { status: failure.status, code: failure.code, headers: JSON_TYPE, body: JSON.stringify({ error }) };
}

/** The form of error responses. The asset library has another one than the generation API. */
export interface FailureForm {
  /** The code of an error that is known only by its status. */
  codeOf(status: number): string;
  reply(failure: VideoFailure, requestId: string): Reply;
}

export const GENERATION_FAILURES: FailureForm = {
  codeOf: (status) => CODE_BY_STATUS[status] ?? 'InternalServiceError',
  reply: failureReply,
};

export const withRequestId = (message: string, requestId: string): string => `${message} Request id: ${requestId}`;

/** `subject` is the blamed item, such as `content[1]`. */
export function defaultMessage(code: string, subject?: string): string {
  const [, direction, kind = '', detail] = SENSITIVE.exec(code) ?? [];
  if (direction) {
    const blamed = `the ${direction.toLowerCase()} ${kind.toLowerCase()}${subject ? ` ${subject}` : ''}`;
    const why = detail === 'PrivacyInformation' ? 'real person' : 'sensitive information';
    return `The request failed because ${blamed} may contain ${why}.`;
  }
  if (code === 'AuthenticationError') return 'The API key in the request is missing or invalid.';
  if (statusOf(code) === 429) return 'The request failed because a rate limit or quota of the account was exceeded.';
  if (statusOf(code) >= 500) return 'The service encountered an unexpected internal error.';
  return `The request failed with ${code}.`;
}

function statusOf(code: string): number {
  const fitting = [...STATUS_BY_PREFIX.keys()].filter((prefix) => code.startsWith(prefix));
  const longest = fitting.sort((one, other) => other.length - one.length)[0] ?? '';
  return STATUS_BY_PREFIX.get(longest) ?? 400;
}
