/** What an upstream's refusal means for us: the error a client is told, and what the pool does about the account. */

import { type ApiError, fail } from '../../core/index.ts';
import type { FaultKind } from '../../rules/index.ts';
import type { HubError } from '../hub/types.ts';
import { compact } from '../wire/read.ts';

export interface Fault {
  readonly kind: FaultKind;
  readonly error: HubError;
  /** How long the account should rest, where the upstream said so. */
  readonly restMs?: number;
}

/** An upstream's error as the one that is thrown at the caller. */
export const failureOf = (error: HubError): ApiError =>
  fail(
    error.code,
    error.message,
    compact({
      param: error.param,
      status: error.status,
      retryAfter: error.retryAfterMs === undefined ? undefined : error.retryAfterMs / 1000,
    }),
  );

/** For whatever answers in a form that no reading makes an answer of. */
export const unreadable = (): ApiError => fail('upstream_error', 'The provider sent an answer that could not be read.');
