/**
 * What happened to a call, for the request log, the metrics and traces: its attempts with their times, its conversion
 * and its charge. Holds names, numbers and the redacted errors of providers, never text of a request or a response.
 */
import type { Nanos, Usage } from '../../core/index.ts';
import type { ClientDialect, FaultKind, UpstreamDialect } from '../../rules/index.ts';
import type { ReplySample } from './reply-sample.ts';

/** `ok`, the fault of the account, or `client_closed` when the call ended before the provider did. */
export type AttemptEnd = FaultKind | 'ok' | 'client_closed';

/** One attempt on one account. Times are milliseconds since the start of the call. */
export interface AttemptTrace {
  readonly accountId: string;
  /** Only of a line of another group that took the call. */
  readonly groupId: string | undefined;
  /** The provider's name for the model. */
  readonly model: string | undefined;
  readonly startMs: number;
  status?: number | undefined;
  firstByteMs?: number | undefined;
  lastByteMs?: number | undefined;
  endMs?: number | undefined;
  outcome?: AttemptEnd | undefined;
  /** The provider's message about a failure, see `providerMessage`. */
  message?: string | undefined;
  /** The provider's error type and code, or the code of the network error. */
  reason?: string | undefined;
  /** The provider's id of a failed request. */
  providerRequestId?: string | undefined;
  /**
   * The client's error has the provider's message, which may quote the request; `message` is what may be kept of it.
   */
  isQuoted?: boolean;
  /** What it has used although it failed. */
  spent?: SpentInVain;
  /** Only while traces are exported. */
  sample?: ReplySample;
}

/** What was charged, and by which price. */
export interface ChargeTrace {
  readonly usage: Usage & { readonly images?: Readonly<Record<string, number>> };
  readonly nanos: Nanos;
  readonly priceId: bigint | null;
  readonly estimated: boolean;
  readonly accountId: string;
  /** Parts per million: of the group, of the user. */
  readonly multipliersPpm: readonly bigint[];
}

/** Nothing is charged for it, and the provider bills it. */
export type SpentInVain = Pick<ChargeTrace, 'usage' | 'priceId' | 'estimated' | 'accountId'>;

export class CallTrace {
  readonly attempts: AttemptTrace[] = [];
  /** The caller's dialect, and the dialect of the provider; the same on the native path. */
  client: ClientDialect | undefined;
  target: UpstreamDialect | undefined;
  /** The provider's name for the model of the next attempt. */
  upstreamModel: string | undefined;
  /** Fields of the request by the caller's names. */
  dropped: readonly string[] | undefined;
  changed: readonly string[] | undefined;
  /** The session of the client that chose the account, in [0, 1). */
  session: number | undefined;
  charge: ChargeTrace | undefined;
  /** The name of a model that the key cannot use, as the caller sent it. For the request log only. */
  askedModel: string | undefined;
  /** Why no account took the call: a fault of earlier calls. */
  coolingFor: FaultKind | undefined;
  /** The message of the gateway's error response. */
  message: string | undefined;
  /** How long the client took to send its body. */
  uploadMs = 0;
  #fallbackGroup: string | undefined;

  /** A line of another group takes the call, or its own one again; nothing of the conversion before holds for it. */
  beginGroup(groupId: string | undefined): void {
    this.#fallbackGroup = groupId;
    this.dropped = undefined;
    this.changed = undefined;
  }

  beginAttempt(accountId: string, startMs: number): AttemptTrace {
    const attempt: AttemptTrace = { accountId, groupId: this.#fallbackGroup, model: this.upstreamModel, startMs };
    this.attempts.push(attempt);
    return attempt;
  }

  /** Of the newest attempt on the account. */
  spendInVain(spent: SpentInVain): void {
    const attempt = this.attempts.findLast((one) => one.accountId === spent.accountId && one.spent === undefined);
    if (attempt) attempt.spent = spent;
  }
}

/** A later end of the same attempt has no effect. */
export function endAttempt(attempt: AttemptTrace, endMs: number, outcome: AttemptEnd, message?: string): void {
  if (attempt.outcome !== undefined) return;
  attempt.endMs ??= endMs;
  attempt.outcome = outcome;
  attempt.message = message;
}
