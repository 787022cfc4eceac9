/** Errors that a client caused or can act on. Any other thrown value is a bug and is reported as `internal_error`. */
import { type ErrorCode, errorRow } from '../rules/index.ts';

export interface FailureDetails {
  /** Path of the invalid field: `messages[2].content`. */
  readonly param?: string;
  /** The model that the request names, where the gateway has none of that name. */
  readonly model?: string;
  /** Seconds until a retry can succeed; fractional when the provider reports fractions. */
  readonly retryAfter?: number;
  /** Overrides the status of the code: for codes with two statuses, or to keep the status of the provider. */
  readonly status?: number;
  /** The client dialect's own error type, when its SDK acts on one. */
  readonly reason?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: FailureDetails;

  constructor(code: ErrorCode, message: string, details: FailureDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'ApiError';
    this.code = code;
    this.details = details;
  }
}

/** Creates an `ApiError`. Clients rely on the code; the message is for people and names the field. */
export const fail = (code: ErrorCode, message?: string, details: FailureDetails = {}): ApiError =>
  new ApiError(code, message ?? sentence(errorRow(code).means), details);

/** An error about a field of the request, which its message names first. */
export const failAt = (code: ErrorCode, param: string, text: string): ApiError =>
  fail(code, `${param}: ${text}`, { param });

/** The request may succeed when the client sends it again, after so many seconds. */
export const overloaded = (message: string, retryAfter: number, cause?: unknown): ApiError =>
  fail('server_is_overloaded', message, { retryAfter, ...(cause !== undefined && { cause }) });

/**
 * Something that the gateway needs does not respond for the moment. The
 * request may succeed when the client sends it again.
 */
export class Unavailable extends Error {}

/** The error to show for anything that was thrown. What is neither an `ApiError` nor `Unavailable` is a bug. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return error instanceof Unavailable
    ? overloaded('The gateway is temporarily unavailable; retry shortly.', 1, error)
    : fail('internal_error', undefined, { cause: error });
}

/** What the system, PostgreSQL and drivers tell their errors apart by. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** No object of the kind has the id, or none that the caller may see. */
export const notFound = (kind: string, id: string, param?: string): ApiError =>
  fail('object_not_found', `There is no ${kind} "${shownId(id)}".`, param === undefined ? {} : { param });

/** An id of the caller in a message. */
export const shownId = (id: string): string => id.slice(0, 80);

export const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
