/** Rows of the tables of errors that each family has. */
import type { ErrorCode, FaultKind, TaskErrorCode } from '../../rules/index.ts';

export interface ProviderError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly param: string | undefined;
}

/** The provider's id of the task, or why it has none. Undefined when the response says neither. */
export type CreateReading = { readonly upstreamId: string } | { readonly error: ProviderError } | undefined;

/** What a rejected create means for the caller. */
export type CreateRejection =
  /** The request is at fault; the same request would be rejected again, unless the cause is transient. */
  | { readonly kind: 'request'; readonly code: ErrorCode; readonly isTransient?: boolean }
  /** The content is at fault: the task exists and has failed (V 4.10 r5). */
  | { readonly kind: 'content' }
  /** The provider takes no more requests now. */
  | { readonly kind: 'rate_limited' }
  /** Credential, quota or model of our own account. */
  | { readonly kind: 'account' };

/**
 * Only codes that clearly blame the account have one.
 * Any other rejection may concern one request only, so it starts no cooldown.
 */
export interface AccountFault {
  readonly kind: FaultKind;
  readonly cooldownMs?: number;
}

/** What codes mean for a create request, for a task that failed later, and for the account. */
export interface VideoErrorRow {
  readonly matches: RegExp;
  readonly rejection: CreateRejection;
  readonly task: TaskErrorCode;
  readonly fault?: AccountFault | undefined;
}

export const requestError = (matches: RegExp, code: ErrorCode): VideoErrorRow => ({
  matches,
  rejection: { kind: 'request', code },
  task: 'invalid_video_parameter',
});
export const contentError = (
  matches: RegExp,
  task: 'input_content_rejected' | 'output_content_rejected',
): VideoErrorRow => ({ matches, rejection: { kind: 'content' }, task });
export const rateError = (matches: RegExp): VideoErrorRow => ({
  matches,
  rejection: { kind: 'rate_limited' },
  task: 'upstream_rate_limited',
});
export const accountError = (matches: RegExp, fault?: AccountFault): VideoErrorRow => ({
  matches,
  rejection: { kind: 'account' },
  task: 'upstream_error',
  fault,
});
