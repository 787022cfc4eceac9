/** How an attempt on one account can fail, and what follows: does the account rest, is another one tried, what is the caller told. */
import type { ErrorCode } from './errors.ts';

export interface FaultRow {
  readonly means: string;
  /** Another account may do better. Only while nothing has reached the client. */
  readonly failover: boolean;
  /** Milliseconds the account rests when the upstream names no time; 0 = it stays in use. */
  readonly cooldownMs: number;
  /** Told to the caller when nobody is left to try; `request` faults keep the upstream's own words instead. */
  readonly code: ErrorCode;
}

export const FAULTS = {
  request: { means: 'the request itself is at fault', failover: false, cooldownMs: 0, code: 'invalid_request' },
  opaque_rejected: {
    means: 'opaque state in the request was rejected',
    failover: false,
    cooldownMs: 0,
    code: 'invalid_encrypted_content',
  },
  model: { means: 'the account does not have the model', failover: true, cooldownMs: 0, code: 'model_not_found' },
  rate_limited: {
    means: 'the account is asked too often',
    failover: true,
    cooldownMs: 5_000,
    code: 'rate_limit_exceeded',
  },
  quota_exhausted: {
    means: 'the account has no quota left',
    failover: true,
    cooldownMs: 300_000,
    code: 'server_is_overloaded',
  },
  credential: {
    means: "the account's credential is refused",
    failover: true,
    cooldownMs: 300_000,
    code: 'server_is_overloaded',
  },
  overloaded: { means: 'the provider is overloaded', failover: true, cooldownMs: 5_000, code: 'server_is_overloaded' },
  unreachable: { means: 'no connection could be made', failover: true, cooldownMs: 10_000, code: 'upstream_error' },
  failed: { means: 'the provider failed or broke off', failover: true, cooldownMs: 2_000, code: 'upstream_error' },
  timeout: {
    means: 'the provider did not answer in time',
    failover: true,
    cooldownMs: 2_000,
    code: 'upstream_timeout',
  },
} as const satisfies Record<string, FaultRow>;
export type FaultKind = keyof typeof FAULTS;
export const faultRow = (kind: FaultKind): FaultRow => FAULTS[kind];
