/** Errors of clouds as those of the Messages API, so that clients and the classification of failures read them. */
import type { ResponseListener } from '../../../platform/http/index.ts';
import { changedResponse } from './changed-response.ts';
import type { MadeResponse } from './cloud.ts';
import { parseObject } from './token-request.ts';

const MAX_BYTES = 256 * 1024;
/** The provider's own API names a time with each rate limit; one without means a limit of money. Clouds name none. */
const RETRY_AFTER_SECONDS = '5';

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

export interface CloudError {
  readonly status: number;
  readonly message: string;
}

export const messagesError = ({ status, message }: CloudError): object => ({
  type: 'error',
  error: { type: TYPES[status] ?? 'api_error', message },
});

/** `read` finds the error of the cloud; undefined for errors that have the provider's form already. */
export const withMessagesErrors = (
  listener: ResponseListener,
  read: (response: MadeResponse) => CloudError | undefined,
): ResponseListener =>
  changedResponse(listener, {
    applies: (status) => status >= 400,
    maxBytes: MAX_BYTES,
    change(response) {
      const error = read(response);
      const status = error?.status ?? response.status;
      const headers =
        status === 429 && response.headers['retry-after'] === undefined
          ? { ...response.headers, 'retry-after': RETRY_AFTER_SECONDS }
          : response.headers;
      if (!error) return { status, headers, body: response.body };
      const body = Buffer.from(JSON.stringify(messagesError(error)));
      return { status, headers: { ...headers, 'content-type': 'application/json' }, body };
    },
  });

/** Google's errors are `{ error: { message } }`, or a list with one such object. */
export function googleError({ status, body }: MadeResponse): CloudError | undefined {
  const parsed = parseObject(body.toString('utf8'));
  const whole = Array.isArray(parsed) ? (parsed[0] as Readonly<Record<string, unknown>> | undefined) : parsed;
  const error = whole?.error;
  if (whole?.type === 'error' || typeof error !== 'object' || error === null) return undefined;
  const { message } = error as { message?: unknown };
  return { status, message: typeof message === 'string' ? message : `HTTP ${status}` };
}
