/** How an attempt on one account can fail, and what follows: does the account rest, is another one tried, what is the caller told. */
import type { ErrorCode } from './errors.ts';

export interface FaultRow {
  readonly means: string;
  /** Another account may do better. Only while nothing has reached the client. */
  readonly tryAnother: boolean;
  /** Milliseconds the account rests when the upstream names no time; 0 = it stays in use. */
  readonly restMs: number;
  /** Told to the caller when nobody is left to try; `request` faults keep the upstream's own words instead. */
  readonly code: ErrorCode;
}

export const FAULTS = {
  request: { means: 'the request itself is at fault', tryAnother: false, restMs: 0, code: 'invalid_request' },
  carrier: {
    means: 'opaque state in the request was rejected',
    tryAnother: false,
    restMs: 0,
    code: 'invalid_encrypted_content',
  },
  model: { means: 'the account does not have the model', tryAnother: true, restMs: 0, code: 'model_not_found' },
  limited: { means: 'the account is asked too often', tryAnother: true, restMs: 5_000, code: 'rate_limit_exceeded' },
  exhausted: {
    means: 'the account has no quota left',
    tryAnother: true,
    restMs: 300_000,
    code: 'server_is_overloaded',
  },
  credential: {
    means: "the account's credential is refused",
    tryAnother: true,
    restMs: 300_000,
    code: 'server_is_overloaded',
  },
  overloaded: { means: 'the provider is overloaded', tryAnother: true, restMs: 5_000, code: 'server_is_overloaded' },
  unreachable: { means: 'no connection could be made', tryAnother: true, restMs: 10_000, code: 'upstream_error' },
  broken: { means: 'the provider failed or broke off', tryAnother: true, restMs: 2_000, code: 'upstream_error' },
  silent: { means: 'the provider did not answer in time', tryAnother: true, restMs: 2_000, code: 'upstream_timeout' },
} as const satisfies Record<string, FaultRow>;
export type FaultKind = keyof typeof FAULTS;
export const faultRow = (kind: FaultKind): FaultRow => FAULTS[kind];
