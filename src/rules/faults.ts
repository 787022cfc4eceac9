/** How an attempt on one account can fail, and what follows: what the pool does with the account, failover, the client's error code. */
import type { ErrorCode } from './errors.ts';

export interface FaultRow {
  readonly means: string;
  /** Another account may succeed. Only tried while the client has received nothing. */
  readonly failover: boolean;
  /** The provider may have accepted the request and work on it. Operations that are sent once are not sent again. */
  readonly maybeAccepted?: true;
  /** Cooldown when the provider names no time; 0 means none. */
  readonly cooldownMs: number;
  /** What the fault concerns: the whole account, or the account for the same model and kind of operation only. */
  readonly cools: 'account' | 'model' | 'nothing';
  /**
   * `pause`: out of use at once. `count`: the circuit counts it, and pauses only for a time that the provider names. `avoid`: used
   * after all others. `park`: used after all others, and out of use until an operator acts when a later attempt finds the same.
   */
  readonly effect: 'none' | 'pause' | 'count' | 'avoid' | 'park';
  /** The provider's message is about the account, so that operators may see it. Others may quote the request. */
  readonly showsMessage?: true;
  /** The client's error code when no account is left to try; `request` faults keep the provider's own code instead. */
  readonly code: ErrorCode;
}

/** Nothing follows for the account. */
const OF_REQUEST = { failover: false, cooldownMs: 0, cools: 'nothing', effect: 'none' } as const;
const COUNTED = { failover: true, cooldownMs: 0, cools: 'model', effect: 'count' } as const;

export const FAULTS = {
  request: { ...OF_REQUEST, means: 'the request itself is invalid', code: 'invalid_request' },
  opaque_rejected: {
    ...OF_REQUEST,
    means: 'opaque state in the request was rejected',
    code: 'invalid_encrypted_content',
  },
  option_rejected: {
    ...OF_REQUEST,
    means: 'the provider rejects an option that the gateway added; the request is sent again without it',
    code: 'invalid_request',
  },
  model: {
    means: 'the account does not have the model',
    failover: true,
    cooldownMs: 600_000,
    cools: 'model',
    effect: 'avoid',
    code: 'model_not_found',
  },
  cannot_count: {
    ...OF_REQUEST,
    means: 'the account has no endpoint that counts tokens',
    failover: true,
    code: 'endpoint_not_supported',
  },
  // A caller can provoke these at will, so they never touch the health of the account.
  forbidden: {
    ...OF_REQUEST,
    means: 'the provider, or a firewall before it, rejects this request',
    failover: true,
    code: 'upstream_error',
  },
  rate_limited: {
    means: 'the account has reached its rate limit',
    failover: true,
    cooldownMs: 5_000,
    cools: 'model',
    effect: 'pause',
    showsMessage: true,
    code: 'rate_limit_exceeded',
  },
  quota_exhausted: {
    means: 'the account has no quota left',
    failover: true,
    cooldownMs: 300_000,
    cools: 'account',
    effect: 'pause',
    showsMessage: true,
    code: 'server_is_overloaded',
  },
  credential: {
    means: "the provider rejects the account's credential",
    failover: true,
    cooldownMs: 60_000,
    cools: 'account',
    effect: 'park',
    showsMessage: true,
    code: 'server_is_overloaded',
  },
  overloaded: { ...COUNTED, means: 'the provider is overloaded', code: 'server_is_overloaded' },
  unreachable: { ...COUNTED, means: 'no connection could be opened', cools: 'account', code: 'upstream_error' },
  failed: {
    ...COUNTED,
    means: 'the provider failed or closed the connection early',
    maybeAccepted: true,
    code: 'upstream_error',
  },
  oversized: {
    ...OF_REQUEST,
    means: 'the response is larger than the gateway reads or converts; another account would send the same',
    code: 'upstream_error',
  },
  timeout: { ...COUNTED, means: 'the provider did not respond in time', maybeAccepted: true, code: 'upstream_timeout' },
  truncated: {
    ...COUNTED,
    means: 'the provider ended its response before it was complete',
    maybeAccepted: true,
    code: 'upstream_error',
  },
  no_result: {
    ...OF_REQUEST,
    means: 'the reply lacks what the request asks for',
    maybeAccepted: true,
    code: 'upstream_error',
  },
} as const satisfies Record<string, FaultRow>;
export type FaultKind = keyof typeof FAULTS;
export const faultRow = (kind: FaultKind): FaultRow => FAULTS[kind];

/** By these statuses a provider says that it has no endpoint to count with, or not for this model. */
export const CANNOT_COUNT_STATUSES: ReadonlySet<number> = new Set([404, 405, 501]);
