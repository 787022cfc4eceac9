/** What the client gets when no account could serve its call, and the transport faults that caused it. */
import { type Group, redact, type Secrets } from '../catalog/index.ts';
import { ApiError, fail, overloaded } from '../core/index.ts';
import type { Fault, HubError } from '../dialects/index.ts';
import type { NoAccount } from '../providers/pool/index.ts';
import type { TransportError } from '../providers/upstream/index.ts';
import { type FaultKind, faultRow, MAX_COOLDOWN_MS } from '../rules/index.ts';

export const withoutSecrets = (error: HubError, secrets: Secrets): HubError => ({
  ...error,
  message: redact(error.message, secrets),
  ...(error.param !== undefined && { param: redact(error.param, secrets) }),
});

/** A connection that closes after the head of a response truncates it. */
export const brokenOff = (kind: FaultKind, error: TransportError | undefined): FaultKind =>
  error && kind === 'failed' ? 'truncated' : kind;

export const redirected = (status: number): Fault => ({
  kind: 'failed',
  error: { code: 'upstream_error', message: `The provider redirected the request (HTTP ${status}).` },
});

export const faultOf = ({ kind }: TransportError): Fault => ({
  kind,
  error: { code: faultRow(kind).code, message: TRANSPORT_MESSAGES[kind] },
});

const TRANSPORT_MESSAGES: Readonly<Record<TransportError['kind'], string>> = {
  unreachable: 'The provider cannot be reached.',
  failed: 'The provider closed the connection before it responded.',
  timeout: 'The provider did not respond in time.',
};

/**
 * The client's error when no account is left to try.
 * Request errors keep their own code; account errors are reported as overload.
 */
export function clientErrorFor({ kind, error, cooldownMs }: Fault): ApiError {
  const row = faultRow(kind);
  if (!row.failover) return fail(error.code, error.message, error.param === undefined ? {} : { param: error.param });
  let waitMs: number | undefined;
  if (kind === 'rate_limited') waitMs = error.retryAfterMs ?? cooldownMs ?? row.cooldownMs;
  else if (kind === 'overloaded') waitMs = error.retryAfterMs ?? cooldownMs;
  const retryAfter = waitMs === undefined ? undefined : Math.min(waitMs, MAX_COOLDOWN_MS) / 1000;
  if (kind === 'rate_limited' && retryAfter !== undefined) return rateLimited(retryAfter);
  // A retry of a forbidden request would be refused again; SDKs retry 502 but not 403.
  if (kind === 'forbidden') return fail(row.code, MESSAGES[kind], { status: 403 });
  return fail(row.code, MESSAGES[kind] ?? error.message, retryAfter === undefined ? {} : { retryAfter });
}

/** SDKs would send the request again by themselves, and it would be paid for twice. */
export function notSentAgain(fault: Fault): ApiError {
  const { code, message, details } = clientErrorFor(fault);
  return fail(code, `${message} The request was not sent again, because the provider may have accepted it.`, {
    ...details,
    headers: { 'x-should-retry': 'false' },
  });
}

const rateLimited = (seconds: number): ApiError =>
  fail('rate_limit_exceeded', `The provider's rate limit is reached. Please try again in ${seconds}s.`, {
    retryAfter: seconds,
  });

const MESSAGES: Partial<Record<FaultKind, string>> = {
  forbidden: 'The provider refused the request.',
  quota_exhausted: 'No upstream account can take the request now. Try again later.',
  credential: 'No upstream account can take the request now. Try again later.',
  overloaded: 'The provider is overloaded. Try again shortly.',
  failed: 'The provider failed to respond.',
  truncated: 'The provider failed to respond.',
};

export const endpointNotSupported = (endpoint: string, ...groups: readonly Pick<Group, 'style' | 'id'>[]): ApiError => {
  const names = groups.map(({ style, id }) => `the ${style}-style group "${id}"`);
  return fail('endpoint_not_supported', `${endpoint} is not available for keys of ${names.join(' and ')}.`);
};

export const FULL: NoAccount = { retryMs: 1_000, reason: 'full' };

export function allAccountsBusy({ reason, retryMs }: NoAccount): ApiError {
  const retryAfter = Math.max(1, Math.ceil(retryMs / 1000));
  if (reason === 'rate_limited') return rateLimited(retryAfter);
  return overloaded(BUSY[reason] ?? 'Every upstream account is cooling down. Try again shortly.', retryAfter);
}

/** An overload that names no time lasts until the first cooldown ends; a later request gets the same time. */
export function withWait(error: ApiError, cooldownMs: () => number): ApiError {
  if (error.code !== 'server_is_overloaded' || error.details.retryAfter !== undefined) return error;
  const retryAfter = Math.max(1, Math.ceil(cooldownMs() / 1000));
  return fail(error.code, error.message, { ...error.details, retryAfter });
}

const BUSY: Partial<Record<NoAccount['reason'], string>> = {
  full: 'Every upstream account is at capacity. Try again shortly.',
  credential: 'No upstream account can take the request now. Try again later.',
  parked: 'No upstream account can take the request now. Try again later.',
  limit: 'Every upstream account is at a limit that its operator has set. Try again later.',
};

export const faultKindOf = (code: HubError['code']): FaultKind => KIND[code] ?? 'failed';

const KIND: Partial<Record<HubError['code'], FaultKind>> = {
  invalid_request: 'request',
  invalid_value: 'request',
  unsupported_parameter: 'request',
  request_too_large: 'request',
  context_length_exceeded: 'request',
  content_policy_violation: 'request',
  rate_limit_exceeded: 'rate_limited',
  server_is_overloaded: 'overloaded',
  upstream_timeout: 'timeout',
  invalid_encrypted_content: 'opaque_rejected',
  model_not_found: 'model',
};

/** A way cannot serve the call, and the client has received nothing: another one may. */
export class WayUnavailable extends ApiError {
  /** `out`: providers fail, or accounts are at their limits. `request`: it has no form there, or is rejected. */
  readonly because: 'out' | 'request';
  /** No account was tried, because all are cooling down. */
  readonly isSkipped: boolean;

  constructor({ code, message, details }: ApiError, because: WayUnavailable['because'] = 'request', isSkipped = false) {
    super(code, message, details);
    this.because = because;
    this.isSkipped = isSkipped;
  }
}

/** The error of a way that others may not have; a bug stays what it is. */
export const wayError = (error: unknown): unknown =>
  error instanceof ApiError && !(error instanceof WayUnavailable) ? new WayUnavailable(error) : error;
