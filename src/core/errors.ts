/** What a caller did wrong or may act on. Everything else that is thrown is a bug and surfaces as `internal_error`. */
import { type ErrorCode, errorRow } from '../rules/index.ts';

export interface FailureDetails {
  /** The field that is wrong, as a path: `messages[2].content`. */
  readonly param?: string;
  /** Seconds until it is worth trying again; not whole where an upstream is as exact. */
  readonly retryAfter?: number;
  /** For the codes whose row has two statuses, or for an upstream's own status that is kept. */
  readonly status?: number;
  /** A word of the caller's own dialect that its SDK acts on, where one is known. */
  readonly reason?: string;
  /** Extra response headers. */
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

/** The message is for people and names the field; the code is the contract. */
export const fail = (code: ErrorCode, message?: string, details: FailureDetails = {}): ApiError =>
  new ApiError(code, message ?? sentence(errorRow(code).means), details);

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
