/**
 * How an attempt on one account can fail, and what follows: what the pool does with the account, failover, the client's
 * error code.
 */
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
   * `pause`: out of use at once. `count`: by the circuit, or a time that the provider names. `avoid`: used last.
   * `park`: the same, and out when it happens again.
   */
  readonly effect: 'none' | 'pause' | 'count' | 'avoid' | 'park';
  /** The provider's message is about the account, so that operators may see it. Others may quote the request. */
  readonly showsMessage?: true;
  /** The client's error code when no account is left to try; `request` faults keep the provider's own code instead. */
  readonly code: ErrorCode;
}

type Effect = Omit<FaultRow, 'means' | 'code'>;
/** Nothing follows for the account. */
const OF_REQUEST: Effect = { failover: false, cooldownMs: 0, cools: 'nothing', effect: 'none' };
const OF_ATTEMPT: Effect = { ...OF_REQUEST, failover: true };
const COUNTED: Effect = { failover: true, cooldownMs: 0, cools: 'model', effect: 'count' };
const UNSURE: Effect = { ...COUNTED, maybeAccepted: true };
const out = (cools: Effect['cools'], cooldownMs: number, effect: Effect['effect']): Effect => ({
  failover: true,
  cooldownMs,
  cools,
  effect,
  ...(effect !== 'avoid' && { showsMessage: true }),
});
const fault = (means: string, code: ErrorCode, effect: Effect): FaultRow => ({ means, ...effect, code });

export const FAULTS = {
  request: fault('the request itself is invalid', 'invalid_request', OF_REQUEST),
  opaque_rejected: fault('opaque state in the request was rejected', 'invalid_encrypted_content', OF_REQUEST),
  option_rejected: fault(
    'the provider rejects an option that the gateway added; the request is sent again without it',
    'invalid_request',
    OF_REQUEST,
  ),
  model: fault('the account does not have the model', 'model_not_found', out('model', 600_000, 'avoid')),
  cannot_count: fault('the account has no endpoint that counts tokens', 'endpoint_not_supported', OF_ATTEMPT),
  // A caller can provoke these at will, so they never touch the health of the account.
  forbidden: fault('the provider, or a firewall before it, rejects this request', 'upstream_error', OF_ATTEMPT),
  rate_limited: fault('the account has reached its rate limit', 'rate_limit_exceeded', out('model', 5_000, 'pause')),
  quota_exhausted: fault('the account has no quota left', 'server_is_overloaded', out('account', 300_000, 'pause')),
  credential: fault(
    "the provider rejects the account's credential",
    'server_is_overloaded',
    out('account', 60_000, 'park'),
  ),
  overloaded: fault('the provider is overloaded', 'server_is_overloaded', COUNTED),
  unreachable: fault('no connection could be opened', 'upstream_error', { ...COUNTED, cools: 'account' }),
  failed: fault('the provider failed or closed the connection early', 'upstream_error', UNSURE),
  oversized: fault(
    'the response is larger than the gateway reads or converts; another account would send the same',
    'upstream_error',
    OF_REQUEST,
  ),
  timeout: fault('the provider did not respond in time', 'upstream_timeout', UNSURE),
  truncated: fault('the provider ended its response before it was complete', 'upstream_error', UNSURE),
  no_result: fault('the reply lacks what the request asks for', 'upstream_error', {
    ...OF_REQUEST,
    maybeAccepted: true,
  }),
} as const satisfies Record<string, FaultRow>;
export type FaultKind = keyof typeof FAULTS;
export const faultRow = (kind: FaultKind): FaultRow => FAULTS[kind];

/** By these statuses a provider says that it has no endpoint to count with, or not for this model. */
export const CANNOT_COUNT_STATUSES: ReadonlySet<number> = new Set([404, 405, 501]);
