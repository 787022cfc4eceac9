/** One line of the request log, from a call that has ended. */
import type { AttemptTrace, CallOutcome, CallTrace, ChargeTrace, CompletedCall } from '../../platform/web/index.ts';
import { type FaultKind, faultRow } from '../../rules/index.ts';
import type { ErrorSide } from '../../schemas/index.ts';

/** Times are milliseconds since the start of the call. */
export interface RequestEntry {
  readonly id: string;
  readonly at: number;
  readonly userId: string;
  readonly keyId: string;
  readonly groupId: string;
  readonly operation: string;
  readonly model: string | undefined;
  readonly stream: boolean | undefined;
  readonly status: number;
  readonly outcome: CallOutcome;
  readonly code: string | undefined;
  readonly error: ErrorSide | undefined;
  /** The error message that the caller got; undefined where it may quote the request. */
  readonly message: string | undefined;
  readonly firstByteMs: number | undefined;
  readonly totalMs: number;
  readonly addedMs: number | undefined;
  readonly failoverMs: number | undefined;
  readonly charge: ChargeTrace | undefined;
  readonly trace: CallTrace;
}

const NOBODY = '';
const NOT_OF_CALLERS = /^(?:operator|admin|console)\./;

export const isOfNobody = ({ userId }: Pick<RequestEntry, 'userId'>): boolean => userId === NOBODY;

/**
 * Undefined for calls of operators and of the console, and for calls without a known key that did not fail for that
 * reason.
 */
export function requestEntry({ call, status, outcome }: CompletedCall): RequestEntry | undefined {
  const { user = NOBODY, key = NOBODY, group = NOBODY, stream, code } = call.logFields;
  if (typeof user !== 'string' || typeof key !== 'string' || typeof group !== 'string') return undefined;
  if (user === NOBODY && !(code === 'invalid_api_key' && !NOT_OF_CALLERS.test(call.operation))) return undefined;
  const { trace } = call;
  const model = call.logFields.model ?? trace.askedModel ?? call.params.model;
  const totalMs = call.durationMs;
  const last = trace.attempts.at(-1);
  const failed = typeof code === 'string' ? code : undefined;
  const decisive = status < 400 ? last : failedAttempt(trace);
  return {
    id: call.id,
    at: call.startedAt,
    userId: user,
    keyId: key,
    groupId: group,
    operation: call.operation,
    model: typeof model === 'string' ? model : undefined,
    stream: typeof stream === 'boolean' ? stream : undefined,
    status,
    outcome,
    code: failed,
    error: outcome === 'client_closed' ? undefined : errorSide(status, failed, decisive?.outcome ?? trace.coolingFor),
    message: status < 400 && failed === undefined ? undefined : messageOf(trace, decisive),
    firstByteMs: last?.firstByteMs,
    totalMs,
    ...timesOf(trace, totalMs),
    charge: trace.charge,
    trace,
  };
}

/** A call that no line can serve has the error of its own group, whose accounts may have been cooling down. */
const failedAttempt = ({ attempts, coolingFor }: CallTrace): AttemptTrace | undefined =>
  attempts.findLast(({ groupId }) => groupId === undefined) ?? (coolingFor === undefined ? attempts.at(-1) : undefined);

/** A native error is forwarded as the provider wrote it, without an error of the gateway. */
const messageOf = ({ message }: CallTrace, last: AttemptTrace | undefined): string | undefined =>
  message === undefined || last?.isQuoted ? last?.message : message;

/**
 * Splits the time of a call: the client's upload, failed attempts before another one, the provider, and the rest, which
 * is ours.
 */
function timesOf({ attempts, uploadMs }: CallTrace, totalMs: number): Pick<RequestEntry, 'addedMs' | 'failoverMs'> {
  if (attempts.length === 0) return { addedMs: undefined, failoverMs: undefined };
  let providerMs = 0;
  let failoverMs = 0;
  const last = attempts.at(-1);
  for (const attempt of attempts) {
    const tookMs = Math.max(0, Math.min(endOf(attempt), totalMs) - attempt.startMs);
    if (isFault(attempt.outcome) && attempt !== last) failoverMs += tookMs;
    else providerMs += tookMs;
  }
  return { addedMs: Math.max(0, totalMs - uploadMs - providerMs - failoverMs), failoverMs: failoverMs || undefined };
}

/** A provider is done with its last byte, even if its connection closes later. */
const endOf = ({ outcome, lastByteMs, endMs }: AttemptTrace): number =>
  (isFault(outcome) ? endMs : (lastByteMs ?? endMs)) ?? Number.POSITIVE_INFINITY;

export const isFault = (outcome: AttemptTrace['outcome']): outcome is FaultKind =>
  outcome !== undefined && outcome !== 'ok' && outcome !== 'client_closed';

/** A broken stream has the status 200, so the end of the last attempt counts first, or the fault that prevented any. */
function errorSide(status: number, code: string | undefined, last: AttemptTrace['outcome']): ErrorSide | undefined {
  if (isFault(last) && last !== 'cannot_count') return faultSide(last);
  if (status < 400 && code === undefined) return undefined;
  return status < 500 && code !== 'internal_error' && code !== 'shutting_down' ? 'caller' : 'ours';
}

/** What the request caused is on the caller's side. */
const faultSide = (kind: FaultKind): ErrorSide =>
  kind === 'forbidden' || faultRow(kind).code === 'invalid_request' || kind === 'opaque_rejected'
    ? 'caller'
    : 'provider';
