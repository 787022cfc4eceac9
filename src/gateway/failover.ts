/**
 * One upstream call against the accounts of a group: lease an account, send, and either hand the response to its handler or classify
 * the failure and try the next account, as rules/faults.ts says. Never tries another account once the client has received anything.
 */
import type { Account, Model, Secrets } from '../catalog/index.ts';
import { ApiError, type Clock, fail, type Log, type MaybePromise } from '../core/index.ts';
import type { Fault, UpstreamFailure } from '../dialects/index.ts';
import { crashPoint } from '../ledger/index.ts';
import type { HttpHeaders } from '../platform/http/index.ts';
import { type AttemptEnd, type AttemptTrace, type Call, endAttempt, ReplySample } from '../platform/web/index.ts';
import type {
  AccountLease,
  AccountQueue,
  AccountUse,
  Affinity,
  AttemptFault,
  NoAccount,
  Pool,
  RetryBudget,
} from '../providers/pool/index.ts';
import type {
  TransportError,
  UpstreamClient,
  UpstreamExchange,
  UpstreamListener,
  UpstreamRequest,
} from '../providers/upstream/index.ts';
import { FALLBACK, type FaultKind, faultRow, TIMEOUTS, type TimeoutClass } from '../rules/index.ts';
import { AttemptBudget, type LegTurn } from './attempt-budget.ts';
import {
  allAccountsBusy,
  brokenOff,
  clientErrorFor,
  FULL,
  faultOf,
  notSentAgain,
  redirected,
  withoutSecrets,
} from './client-error.ts';
import { failureMessage, failureReason, messageIn, providerRequestId } from './failure-reason.ts';
import { providerMessage } from './provider-message.ts';
import type { ReadOn } from './read-on.ts';

export interface FailoverServices {
  readonly pool: Pool;
  readonly accountQueue: AccountQueue;
  readonly retryBudget: RetryBudget;
  readonly upstream: UpstreamClient;
  readonly readOn: ReadOn;
  readonly clock: Clock;
  readonly log: Log;
  /** Keeps what traces say about a response. */
  readonly samplesReplies?: boolean | undefined;
}

export interface UpstreamCall {
  readonly accounts: readonly Account[];
  readonly affinity?: Affinity;
  /** Users take turns when all accounts are full. */
  readonly userId?: string;
  /** `once`: not tried on another account when the first may have accepted it. */
  readonly sends?: 'again' | 'once';
  /** What the account is used for; a cooldown may concern this use only. */
  readonly use?: AccountUse;
  /** The model of the request; the client reads its own name for it in errors of the provider. */
  readonly model?: Secrets['model'];
  /** Accounts of another dialect can take the call too. */
  readonly leg?: LegTurn | undefined;
  /** The same call without opaque values, after a provider rejected one of them. Undefined when it has none, or none any more. */
  withoutOpaque?(): UpstreamCall | undefined;
  /** With a promise where the request is large. */
  build(account: Account): MaybePromise<UpstreamRequest>;
  /** An account gets the request. A client that disconnects from now on pays for what its provider does. */
  onSent(account: Account): void;
  /** The attempt failed, and costs nothing. */
  onFailed(): void;
  /** A success status arrived; the handler gets the rest of the response. */
  onResponse(head: ResponseHead, upstream: UpstreamControl): ResponseHandler;
  classify(failure: UpstreamFailure, account: Account): Fault;
  /** The request itself is at fault: sends the provider's error to the client, or throws that of the fault, which has no secrets. */
  onRejected(failure: UpstreamFailure, fault: Fault, account: Account): void;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly account: Account;
}

/** What a handler can do to the upstream while it receives the response. */
export interface UpstreamControl {
  resume(): void;
  abort(): void;
  /** The response turned out to be a failure before the client received anything; continues as if the status had been an error. */
  reject(fault: Fault): void;
  /** The client has its whole response, whatever the upstream still sends. `kind` is the fault of the account, if any. */
  done(kind?: FaultKind): void;
}

export interface ResponseHandler {
  /**
   * Asked when the client disconnects. True: the reply is finished and its usage report is about to come, so the handler gets the rest of
   * the response for a short time.
   */
  readonly readsOn?: boolean;
  /** Returns false to pause the upstream. With `isLast`, `onEnd` follows in the same turn. */
  onData(chunk: Buffer, isLast?: boolean): boolean;
  /**
   * The upstream ended, properly or with an error. Returns the fault of the account, if any; a `Fault` object says that the
   * client has received nothing and another account may be tried.
   */
  onEnd(error?: TransportError): FaultKind | Fault | undefined;
}

/**
 * Why accounts cannot serve a call. `out`: providers fail, or accounts are at their limits. `request`: the request has no form there, or is
 * rejected. `elsewhere`: what it continues is held by accounts of another group.
 */
export type Unavailability = 'out' | 'request' | 'elsewhere';

/**
 * These accounts cannot serve the call, and the client has received nothing: accounts that speak another dialect may. `isSkipped`: none
 * was tried, because they are cooling down. `model` names the lines that hold what the request continues.
 */
export class LegUnavailable extends ApiError {
  readonly because: Unavailability;
  readonly isSkipped: boolean;
  readonly model: Model | undefined;

  constructor(
    { code, message, details }: ApiError,
    because: Unavailability = 'request',
    { isSkipped = false, model }: { readonly isSkipped?: boolean; readonly model?: Model } = {},
  ) {
    super(code, message, details);
    this.because = because;
    this.isSkipped = isSkipped;
    this.model = model;
  }
}

/** The error of a leg that other legs may not have; a bug stays what it is. */
export const legError = (error: unknown): unknown =>
  error instanceof ApiError && !(error instanceof LegUnavailable) ? new LegUnavailable(error) : error;

/** More of an error body is not read: its beginning says what failed. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Resolves when the client has its response or is gone; rejects with the error for the client. */
export const runWithFailover = (call: Call, upstreamCall: UpstreamCall, services: FailoverServices): Promise<void> =>
  new Failover(call, upstreamCall, services).run();

class Failover {
  readonly #call: Call;
  #upstreamCall: UpstreamCall;
  readonly #services: FailoverServices;
  readonly #tried: string[] = [];
  readonly #faults: FaultKind[] = [];
  readonly #done = Promise.withResolvers<void>();
  #exchange: UpstreamExchange | undefined;
  #attempt: Attempt | undefined;
  #lease: AccountLease<Account> | undefined;
  /** The newest attempt, for the request log. */
  #trace: AttemptTrace | undefined;
  #sentBody: UpstreamRequest['body'] = null;
  readonly #budget: AttemptBudget;
  /** A call waits once. */
  #hasWaited = false;
  #leaveQueue = (): void => {};
  #endWatch = (): void => {};
  /** The account that gets the request again, because its provider rejected only a part of it. */
  #again: string | undefined;

  constructor(call: Call, upstreamCall: UpstreamCall, services: FailoverServices) {
    this.#call = call;
    this.#upstreamCall = upstreamCall;
    this.#services = services;
    this.#budget = upstreamCall.leg?.budget ?? new AttemptBudget(services);
  }

  run(): Promise<void> {
    // Registered before anything is sent: a disconnect before the upstream's response head must abort the upstream too.
    this.#call.endWithHandler();
    this.#call.onClientGone(() => this.#onClientGone());
    if (this.#budget.beginLeg(this.#operation)) this.#next(undefined);
    else this.#giveUp(allAccountsBusy(FULL), true);
    return this.#done.promise;
  }

  #onClientGone(): void {
    const { readOn } = this.#services;
    if (this.#call.isInterrupted || readOn.isOff || this.#attempt?.readsOn !== true) return this.#leave();
    const end = readOn.begin(() => this.#leave());
    this.#done.promise.then(end, end);
  }

  #leave(): void {
    this.#exchange?.abort();
    this.#leaveQueue();
    this.#endAttempt('client_closed');
    // Says nothing about the account.
    this.#release({ kind: 'request' });
    this.#done.resolve();
  }

  #release(fault?: AttemptFault): void {
    this.#endWatch();
    const hasFallback = this.#upstreamCall.leg?.hasFallback;
    this.#lease?.release(fault && hasFallback ? { ...fault, hasFallback } : fault);
  }

  #next(last: ApiError | undefined): void {
    if (this.#call.isClientGone) return;
    const { accounts } = this.#upstreamCall;
    const [first] = accounts;
    if (!first) return this.#failWithoutAccount();
    const untried = this.#tried.length === 0 ? accounts : accounts.filter(({ id }) => !this.#tried.includes(id));
    if (last && (untried.length === 0 || !this.#budget.takeRetry(this.#operation))) return this.#giveUp(last);
    const { leg, use } = this.#upstreamCall;
    const onlyReady = leg?.onlyReady === true;
    const coolingMs = onlyReady ? this.#services.pool.cooldownMs(untried, use) : 0;
    if (coolingMs > 0) return this.#giveUp(last ?? allAccountsBusy({ ...FULL, retryMs: coolingMs }), !last);
    const waits = !onlyReady || leg?.waits === true;
    const { accountQueue } = this.#services;
    const isBehindOthers = !this.#hasWaited && accountQueue.waiting(first.groupId) > 0;
    const lease = isBehindOthers ? FULL : this.#leaseOf(untried);
    if ('account' in lease) return this.#begin(lease);
    if (lease.reason === 'full' && !this.#hasWaited && waits) return this.#wait(untried, last);
    if (lease.reason !== 'full' && lease.reason !== 'parked') this.#call.trace.coolingFor = lease.reason;
    this.#giveUp(last ?? allAccountsBusy(lease), !last);
  }

  #leaseOf(untried: readonly Account[]): AccountLease<Account> | NoAccount {
    const { affinity, use, leg } = this.#upstreamCall;
    const wanted = this.#again === undefined ? affinity : { accountId: this.#again };
    return this.#services.pool.lease(untried, wanted, use, leg?.onlyReady);
  }

  get #operation(): TimeoutClass {
    return this.#upstreamCall.use?.operation ?? 'none';
  }

  /** Every usable account is full: a slot is usually free within moments. */
  #wait(untried: readonly Account[], last: ApiError | undefined): void {
    const { clock, accountQueue } = this.#services;
    const { use } = this.#upstreamCall;
    const waitedFrom = clock.elapsed();
    this.#hasWaited = true;
    this.#leaveQueue = accountQueue.add({
      groupId: untried[0]?.groupId ?? '',
      userId: this.#upstreamCall.userId ?? '',
      needs: [use?.operation, use?.model, ...untried.map(({ id }) => id)].join('\n'),
      start: () => {
        const lease = this.#leaseOf(untried);
        if (!('account' in lease)) return false;
        this.#call.addLogFields({ queued_ms: Math.round(clock.elapsed() - waitedFrom) });
        this.#begin(lease);
        return true;
      },
      refuse: () => this.#giveUp(last ?? allAccountsBusy(FULL)),
    });
  }

  #begin(lease: AccountLease<Account>): void {
    this.#tried.push(lease.account.id);
    this.#budget.countAttempt();
    this.#lease = lease;
    const { account } = lease;
    try {
      const built = this.#upstreamCall.build(account);
      if (built instanceof Promise)
        built.then((request) => this.#sendBuilt(account, request)).catch((error: unknown) => this.#onUnbuilt(error));
      else this.#send(account, built);
    } catch (error) {
      this.#onUnbuilt(error);
    }
  }

  /** The client may have left meanwhile; its lease is given back already. */
  #sendBuilt(account: Account, request: UpstreamRequest): void {
    if (!this.#call.isClientGone) this.#send(account, request);
  }

  /** The request has no form in the dialect of this account; nothing was sent. */
  #onUnbuilt(error: unknown): void {
    this.#release();
    this.#done.reject(legError(error));
  }

  #giveUp(error: ApiError, isSkipped = false): void {
    // A firewall rejects what a request says, and so may any other one.
    const because = this.#faults.at(-1) === 'forbidden' ? 'request' : 'out';
    this.#done.reject(new LegUnavailable(this.#withWait(error), because, { isSkipped }));
  }

  #send(account: Account, request: UpstreamRequest): void {
    const { trace } = this.#call;
    trace.session = this.#upstreamCall.affinity?.hash;
    this.#trace = trace.beginAttempt(account.id, this.#call.elapsedMs());
    if (this.#services.samplesReplies) this.#trace.sample = new ReplySample();
    this.#sentBody = request.body;
    const attempt = new Attempt(this, account, this.#trace);
    this.#attempt = attempt;
    this.#upstreamCall.onSent(account);
    const timeouts = this.#upstreamCall.leg?.hasFallback ? shortened(request.timeouts) : request.timeouts;
    this.#exchange = this.#services.upstream.send(
      // A second request would cost twice, so the first does not go out on a connection that the provider may be closing.
      this.#upstreamCall.sends === 'once'
        ? { ...request, connection: 'new' }
        : { ...request, timeouts, isResendable: true },
      attempt,
    );
    attempt.exchange = this.#exchange;
    if (timeouts !== request.timeouts && request.timeouts !== TIMEOUTS.stream) this.#watchCircuit(attempt, account);
    crashPoint('upstream.sent');
  }

  /** Silence says little about a whole response. Other calls of the account may have found out that it is down. */
  #watchCircuit(attempt: Attempt, account: Account, ms: number = FALLBACK.firstByteMs.stream): void {
    const { clock, pool } = this.#services;
    this.#endWatch = clock.after(ms, () => {
      if (pool.isOut(account, this.#upstreamCall.use))
        attempt.reject(faultOf({ kind: 'timeout', code: 'CIRCUIT_OPEN' }));
      else this.#watchCircuit(attempt, account, FALLBACK.circuitCheckMs);
    });
  }

  /** An overload that names no time lasts until the first cooldown ends; a later request gets the same time. */
  #withWait(error: ApiError): ApiError {
    if (error.code !== 'server_is_overloaded' || error.details.retryAfter !== undefined) return error;
    const { accounts, use } = this.#upstreamCall;
    const retryAfter = Math.max(1, Math.ceil(this.#services.pool.cooldownMs(accounts, use) / 1000));
    return fail(error.code, error.message, { ...error.details, retryAfter });
  }

  /** A mistake in the configuration, which a retry cannot help; lines of other groups can. */
  #failWithoutAccount(): void {
    const { id, operation, logFields } = this.#call;
    this.#services.log.error('account.none_configured', { request: id, op: operation, group: logFields.group });
    this.#done.reject(new LegUnavailable(fail('no_upstream_account'), 'out'));
  }

  #endAttempt(outcome: AttemptEnd, words?: string): void {
    if (this.#trace) endAttempt(this.#trace, this.#call.elapsedMs(), outcome, words);
  }

  // ---------------------------------------------------------------- called by an attempt

  onBytes(trace: AttemptTrace): void {
    const now = this.#call.elapsedMs();
    trace.firstByteMs ??= now;
    trace.lastByteMs = now;
  }

  onResponse(head: ResponseHead, upstream: UpstreamControl): ResponseHandler {
    this.#endWatch();
    this.#lease?.answered();
    // Large bodies must not stay in memory while the response is sent.
    this.#sentBody = null;
    return this.#upstreamCall.onResponse(head, upstream);
  }

  /** An exception in a handler must end this call; thrown into the socket's callback it would leave the client waiting. */
  finish(handler: ResponseHandler, account: Account, error?: TransportError): void {
    try {
      const outcome = handler.onEnd(error);
      if (typeof outcome === 'object')
        this.fail({ ...outcome, kind: brokenOff(outcome.kind, error) }, account, undefined, error);
      else this.done(outcome && brokenOff(outcome, error), error);
    } catch (thrown) {
      this.#release();
      this.#done.reject(thrown);
    }
  }

  done(kind: FaultKind | undefined, transport?: TransportError): void {
    this.#release(kind && { kind, providerCode: transport?.code });
    this.#endAttempt(kind ?? (this.#call.isClientGone ? 'client_closed' : 'ok'), transport?.code);
    this.#logOutcome(kind);
    if (!kind) this.#budget.renew();
    this.#done.resolve();
  }

  onErrorStatus({ status, headers, chunks }: ErrorResponse, account: Account): void {
    const failure = { status, headers, body: Buffer.concat(chunks).toString('utf8') };
    const fault = this.#classify(failure, account);
    if (fault) this.fail(fault, account, failure);
  }

  /** The request may be encoded again for this. As in `finish`, an exception must end the call. */
  #classify(failure: UpstreamFailure, account: Account): Fault | undefined {
    try {
      return this.#upstreamCall.classify(failure, account);
    } catch (thrown) {
      this.#release();
      this.#done.reject(thrown);
      return undefined;
    }
  }

  /** Without `failure` there was no error status: the transport failed, or the response itself was an error. */
  fail(fault: Fault, account: Account, failure: UpstreamFailure | undefined, transport?: TransportError): void {
    const providerCode = fault.providerCode ?? (failure ? `http_${failure.status}` : transport?.code);
    const message = failure && faultRow(fault.kind).showsMessage ? failureMessage(failure.body, account) : undefined;
    this.#release({ kind: fault.kind, cooldownMs: fault.cooldownMs, providerCode, message });
    if (!this.#call.isClientGone) this.#upstreamCall.onFailed();
    this.#logOutcome(fault.kind);
    const reason = failure ? failureReason(failure.body, account) : (transport?.code ?? fault.error.code);
    const { model, sends } = this.#upstreamCall;
    const shown = { ...fault, error: withoutSecrets(fault.error, { account, model }) };
    if (this.#trace) {
      this.#trace.reason = reason;
      this.#trace.providerRequestId = failure && providerRequestId(failure);
      this.#trace.isQuoted = !transport && clientErrorFor(shown).message.includes(shown.error.message);
    }
    this.#endAttempt(fault.kind, this.#wordsOf(account, failure) ?? reason);
    this.#services.log.warn('attempt.failed', {
      request: this.#call.id,
      account: account.id,
      fault: fault.kind,
      status: failure?.status,
      reason,
    });
    const rest = fault.kind === 'opaque_rejected' ? this.#upstreamCall.withoutOpaque?.() : undefined;
    if (fault.kind === 'option_rejected' || rest) {
      // A call says once that an option was rejected, and the call without opaque values has no further one.
      this.#upstreamCall = rest ?? this.#upstreamCall;
      this.#again = account.id;
      this.#tried.pop();
      this.#budget.repeatAttempt();
      return this.#next(undefined);
    }
    const { failover, maybeAccepted } = faultRow(fault.kind);
    if (maybeAccepted && sends === 'once') return this.#done.reject(notSentAgain(shown));
    if (failover) return this.#next(clientErrorFor(shown));
    if (!failure) return this.#done.reject(clientErrorFor(shown));
    try {
      this.#upstreamCall.onRejected(failure, shown, account);
      this.#done.resolve();
    } catch (error) {
      this.#done.reject(error);
    }
  }

  #wordsOf(account: Account, failure: UpstreamFailure | undefined): string | undefined {
    const message = failure && messageIn(failure.body);
    return message && providerMessage({ message, account, model: this.#trace?.model, sent: this.#sentBody });
  }

  #logOutcome(kind: FaultKind | undefined): void {
    this.#call.addLogFields({ attempts: this.#budget.attempts });
    if (!kind) return;
    this.#faults.push(kind);
    // With those of earlier legs and rounds.
    const { faults } = this.#call.logFields;
    this.#call.addLogFields({ faults: [...(Array.isArray(faults) ? faults : []), kind] });
  }
}

/** Another line can take the call, so that a silent provider is not awaited as long. */
const shortened = (timeouts: UpstreamRequest['timeouts']): UpstreamRequest['timeouts'] => {
  const { stream, unary } = FALLBACK.firstByteMs;
  return { ...timeouts, firstByte: Math.min(timeouts.firstByte, timeouts === TIMEOUTS.stream ? stream : unary) };
};

/** A response with an error status, as far as it has arrived. */
interface ErrorResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly chunks: Buffer[];
  bytes: number;
}

/** One attempt on one account: listens to its upstream, and is what the handler sees of it. */
class Attempt implements UpstreamListener, UpstreamControl {
  exchange: UpstreamExchange | undefined;
  readonly #failover: Failover;
  readonly #account: Account;
  #handler: ResponseHandler | undefined;
  #errorResponse: ErrorResponse | undefined;
  readonly #trace: AttemptTrace;
  #isSettled = false;

  constructor(failover: Failover, account: Account, trace: AttemptTrace) {
    this.#failover = failover;
    this.#account = account;
    this.#trace = trace;
  }

  onHead(status: number, headers: HttpHeaders): void {
    crashPoint('upstream.head_received');
    this.#trace.status = status;
    // The API of a provider never redirects. Its address would lead the client around the gateway.
    if (status >= 300 && status < 400) return this.reject(redirected(status));
    if (status >= 400) this.#errorResponse = { status, headers, chunks: [], bytes: 0 };
    else this.#handler = this.#failover.onResponse({ status, headers, account: this.#account }, this);
  }

  onData(chunk: Buffer, isLast?: boolean): boolean {
    crashPoint('upstream.data_received');
    this.#failover.onBytes(this.#trace);
    this.#trace.sample?.push(chunk);
    if (this.#handler) return this.#handler.onData(chunk, isLast);
    const response = this.#errorResponse;
    if (!response) return true;
    response.chunks.push(chunk);
    response.bytes += chunk.length;
    if (response.bytes < MAX_ERROR_BYTES) return true;
    this.exchange?.abort();
    this.onEnd();
    return false;
  }

  get readsOn(): boolean {
    return !this.#isSettled && this.#handler?.readsOn === true;
  }

  onEnd(): void {
    if (this.#isSettled) return;
    if (this.#handler) this.#failover.finish(this.#handler, this.#account);
    else if (this.#errorResponse) this.#failover.onErrorStatus(this.#errorResponse, this.#account);
  }

  onError(error: TransportError): void {
    if (this.#isSettled) return;
    if (this.#handler) this.#failover.finish(this.#handler, this.#account, error);
    else this.#failover.fail(faultOf(error), this.#account, undefined, error);
  }

  resume(): void {
    this.exchange?.resume();
  }

  abort(): void {
    this.exchange?.abort();
  }

  reject(fault: Fault): void {
    this.#isSettled = true;
    this.exchange?.abort();
    this.#failover.fail(fault, this.#account, undefined);
  }

  done(kind?: FaultKind): void {
    this.#isSettled = true;
    this.exchange?.abort();
    this.#failover.done(kind);
  }
}
