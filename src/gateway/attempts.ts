/**
 * One upstream call against the accounts of a way: leases an account, sends,
 * and hands over the response or classifies the failure.
 */
import type { Account } from '../catalog/index.ts';
import { whenReady } from '../core/index.ts';
import type { Fault, UpstreamFailure } from '../dialects/index.ts';
import { crashPoint } from '../ledger/index.ts';
import { type AttemptEnd, type AttemptTrace, type Call, endAttempt, ReplySample } from '../platform/web/index.ts';
import type { AccountLease, AttemptFault, NoAccount } from '../providers/pool/index.ts';
import type { TransportError, UpstreamRequest } from '../providers/upstream/index.ts';
import { ACCOUNT_QUEUE, FALLBACK, type FaultKind, faultRow, TIMEOUTS } from '../rules/index.ts';
import { AccountAttempt, type AttemptHost, type ErrorResponse } from './attempt.ts';
import * as errors from './client-error.ts';
import { failureMessage, failureReason, messageIn, providerMessage, providerRequestId } from './failure-reason.ts';
import { attemptCount, hasFallback, hasOthers, isLastWay, type Outcome, onlyReady, type Step } from './next-step.ts';
import { Tries } from './try-ways.ts';
import type { AttemptServices, ResponseHandler, ResponseHead, UpstreamCall, UpstreamControl } from './upstream-call.ts';
import { shortened } from './upstream-request.ts';

/**
 * Resolves when the client has its response or is gone, with the account that has the request:
 * a client that has left pays for what its provider does. Rejects with the error for the client.
 */
export const runAttempts = (call: Call, upstreamCall: UpstreamCall, services: AttemptServices) =>
  new Attempts(call, upstreamCall, services).run();

class Attempts implements AttemptHost {
  readonly #call: Call;
  #upstreamCall: UpstreamCall;
  readonly #services: AttemptServices;
  readonly #done = Promise.withResolvers<Account | undefined>();
  #attempt: AccountAttempt | undefined;
  #lease: AccountLease<Account> | undefined;
  #trace: AttemptTrace | undefined;
  #sentBody: UpstreamRequest['body'] = null;
  readonly #tries: Tries;
  #leaveQueue = (): void => {};
  #endHeartbeats = (): void => {};
  #endWatch = (): void => {};
  #replyWithinMs = 0;

  constructor(call: Call, upstreamCall: UpstreamCall, services: AttemptServices) {
    this.#call = call;
    this.#upstreamCall = upstreamCall;
    this.#services = services;
    this.#tries = upstreamCall.tries ?? new Tries(services);
  }

  run(): Promise<Account | undefined> {
    // Registered before anything is sent: a disconnect before the upstream's response head must abort the upstream too.
    this.#call.endsWithHandler = true;
    this.#call.onClientGone(() => this.#onClientGone());
    const { accounts, use } = this.#upstreamCall;
    this.#tell({ kind: 'opened', accounts, operation: use?.operation ?? 'none' });
    return this.#done.promise;
  }

  #onClientGone(): void {
    const { readOn } = this.#services;
    if (this.#call.isInterrupted || readOn.isOff || this.#attempt?.readsOn !== true) return this.#leave();
    const end = readOn.begin(() => this.#leave());
    this.#done.promise.then(end, end);
  }

  #leave(): void {
    this.#attempt?.abort();
    this.#leaveQueue();
    this.#endAttempt('client_closed');
    // Says nothing about the account.
    this.#release({ kind: 'request' });
    this.#done.resolve(this.#attempt?.account);
  }

  #release(fault?: AttemptFault): void {
    this.#endWatch();
    this.#lease?.release(fault && this.#hasFallback ? { ...fault, hasFallback: true } : fault);
  }

  get #hasFallback(): boolean {
    return hasFallback(this.#tries.progress);
  }

  #tell(outcome: Outcome): void {
    const step = this.#tries.tell(outcome);
    if (this.#call.isClientGone) return;
    if (step.kind === 'attempt') this.#lend(step.accounts);
    else if (step.kind === 'wait') this.#wait(step.accounts);
    else if (step.kind === 'leave') this.#leaveWay(step);
    else if (step.kind === 'refuse') this.#done.reject(step.error);
  }

  #lend(accounts: readonly Account[]): void {
    const { accountQueue, pool } = this.#services;
    const { progress } = this.#tries;
    const coolingMs = onlyReady(progress) ? pool.cooldownMs(accounts, this.#upstreamCall.use) : 0;
    if (coolingMs > 0) return this.#tell({ kind: 'cooling', retryMs: coolingMs });
    const groupId = accounts[0]?.groupId ?? '';
    const isBehindOthers = !progress.hasWaited && accountQueue.waiting(groupId) > 0;
    const lease = isBehindOthers ? errors.FULL : this.#leaseOf(accounts);
    if ('account' in lease) return this.#begin(lease);
    const { reason } = lease;
    if (reason !== 'full' && reason !== 'parked' && reason !== 'limit') this.#call.trace.coolingFor = reason;
    const none = reason === 'full' ? { reason, retryMs: accountQueue.retryMs(groupId) } : lease;
    this.#tell({ kind: 'no account', none });
  }

  #leaseOf(accounts: readonly Account[]): AccountLease<Account> | NoAccount {
    const { affinity, use } = this.#upstreamCall;
    const { progress } = this.#tries;
    const wanted = progress.again === undefined ? affinity : { accountId: progress.again };
    return this.#services.pool.lease(accounts, wanted, use, onlyReady(progress));
  }

  /** Every usable account is full. Where another group can take the call, it waits for moments only. */
  #wait(accounts: readonly Account[]): void {
    const { clock, accountQueue } = this.#services;
    const { use, userId = '' } = this.#upstreamCall;
    const waitedFrom = clock.elapsed();
    this.#beginHeartbeats();
    this.#leaveQueue = accountQueue.add({
      groupId: accounts[0]?.groupId ?? '',
      userId,
      needs: [use?.operation, use?.model, ...accounts.map(({ id }) => id)].join('\n'),
      mostMs: this.#hasFallback ? ACCOUNT_QUEUE.beforeFallbackMs : undefined,
      start: () => {
        const lease = this.#leaseOf(accounts);
        if (!('account' in lease)) return false;
        this.#call.addLogFields({ queued_ms: Math.round(clock.elapsed() - waitedFrom) });
        this.#begin(lease);
        return true;
      },
      refuse: (retryMs) => this.#tell({ kind: 'no slot', retryMs }),
    });
  }

  /** Until the reply begins: with the slot begins the time of the provider. A further way would need the head for itself. */
  #beginHeartbeats(): void {
    if (!isLastWay(this.#tries.progress)) return;
    const end = (): void => this.#endHeartbeats();
    this.#done.promise.then(end, end);
    this.#awaitHeartbeat();
  }

  #awaitHeartbeat(): void {
    this.#endHeartbeats();
    this.#endHeartbeats = this.#services.clock.after(ACCOUNT_QUEUE.heartbeatMs, () => {
      if (this.#upstreamCall.keepAlive?.()) this.#awaitHeartbeat();
    });
  }

  #begin(lease: AccountLease<Account>): void {
    this.#tries.tell({ kind: 'leased', accountId: lease.account.id });
    this.#lease = lease;
    const { account } = lease;
    try {
      // The client may leave meanwhile; its lease is given back then.
      const send = (request: UpstreamRequest): void => {
        if (!this.#call.isClientGone) this.#send(account, request);
      };
      const sent = whenReady(this.#upstreamCall.build(account), send);
      if (sent instanceof Promise) sent.catch((error: unknown) => this.#onUnbuilt(error));
    } catch (error) {
      this.#onUnbuilt(error);
    }
  }

  /** The request has no form in the dialect of this account; nothing was sent. */
  #onUnbuilt(error: unknown): void {
    this.#release();
    this.#done.reject(errors.wayError(error));
  }

  #leaveWay({ error, because, isSkipped }: Step & { readonly kind: 'leave' }): void {
    // A mistake in the configuration, which a retry cannot help; lines of other groups can.
    if (error.code === 'no_upstream_account') {
      const { id, operation, logFields } = this.#call;
      this.#services.log.error('account.none_configured', { request: id, op: operation, group: logFields.group });
    }
    const { accounts, use } = this.#upstreamCall;
    const shown = errors.withWait(error, () => this.#services.pool.cooldownMs(accounts, use));
    this.#done.reject(new errors.WayUnavailable(shown, because, isSkipped));
  }

  #send(account: Account, request: UpstreamRequest): void {
    const { trace } = this.#call;
    trace.session = this.#upstreamCall.affinity?.hash;
    this.#trace = trace.beginAttempt(account.id, this.#call.elapsedMs());
    if (this.#services.samplesReplies) this.#trace.sample = new ReplySample();
    this.#sentBody = request.body;
    const attempt = new AccountAttempt(this, account, this.#trace);
    this.#attempt = attempt;
    const timeouts = this.#hasFallback ? shortened(request.timeouts) : request.timeouts;
    this.#replyWithinMs = timeouts.firstByte;
    attempt.exchange = this.#services.upstream.send(
      // A second request would cost twice, so the first does not go
      // out on a connection that the provider may be closing.
      this.#upstreamCall.sends === 'once'
        ? { ...request, connection: 'new' }
        : { ...request, timeouts, isResendable: true },
      attempt,
    );
    if (timeouts !== request.timeouts && request.timeouts !== TIMEOUTS.stream) this.#watchCircuit(attempt, account);
    crashPoint('upstream.sent');
  }

  /** Silence says little about a whole response. Other calls of the account may have found out that it is down. */
  #watchCircuit(attempt: AccountAttempt, account: Account, ms: number = FALLBACK.firstByteMs.stream): void {
    const { clock, pool } = this.#services;
    this.#endWatch = clock.after(ms, () => {
      if (pool.isOut(account, this.#upstreamCall.use))
        attempt.reject(errors.faultOf({ kind: 'timeout', code: 'CIRCUIT_OPEN' }));
      else this.#watchCircuit(attempt, account, FALLBACK.circuitCheckMs);
    });
  }

  #endAttempt(outcome: AttemptEnd, message?: string): void {
    if (this.#trace) endAttempt(this.#trace, this.#call.elapsedMs(), outcome, message);
  }

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
    const handler = this.#upstreamCall.onResponse(head, upstream);
    if (handler.isSilent) this.#watchSilence(handler, upstream);
    return handler;
  }

  /** A provider that sends a head, comments or pings, and no reply for as long as a first byte is awaited, is as late as one that sends nothing. */
  #watchSilence(handler: ResponseHandler, upstream: UpstreamControl): void {
    const { progress } = this.#tries;
    if (!this.#hasFallback && !hasOthers(progress)) return;
    this.#endWatch = this.#services.clock.after(this.#replyWithinMs, () => {
      if (handler.isSilent) upstream.reject(errors.faultOf({ kind: 'timeout', code: 'NO_REPLY' }));
    });
  }

  finish(handler: ResponseHandler, account: Account, error?: TransportError): void {
    this.#guard(() => {
      const outcome = handler.onEnd(error);
      if (typeof outcome === 'object')
        this.fail({ ...outcome, kind: errors.brokenOff(outcome.kind, error) }, account, undefined, error);
      else this.done(outcome && errors.brokenOff(outcome, error), error);
    });
  }

  /** An exception must end this call; thrown into the socket's callback it would leave the client waiting. */
  #guard(run: () => void): void {
    try {
      run();
    } catch (thrown) {
      this.#release();
      this.#done.reject(thrown);
    }
  }

  done(kind: FaultKind | undefined, transport?: TransportError): void {
    this.#release(kind && { kind, providerCode: transport?.code });
    this.#endAttempt(kind ?? (this.#call.isClientGone ? 'client_closed' : 'ok'), transport?.code);
    this.#logOutcome(kind);
    if (!kind) this.#tries.tell({ kind: 'served' });
    this.#done.resolve(this.#attempt?.account);
  }

  onErrorStatus({ status, headers, chunks }: ErrorResponse, account: Account): void {
    const failure = { status, headers, body: Buffer.concat(chunks).toString('utf8') };
    this.#guard(() => this.fail(this.#upstreamCall.classify(failure, account), account, failure));
  }

  fail(fault: Fault, account: Account, failure: UpstreamFailure | undefined, transport?: TransportError): void {
    const providerCode = fault.providerCode ?? (failure ? `http_${failure.status}` : transport?.code);
    const message = failure && faultRow(fault.kind).showsMessage ? failureMessage(failure.body, account) : undefined;
    this.#release({ kind: fault.kind, cooldownMs: fault.cooldownMs, providerCode, message });
    if (!this.#call.isClientGone) {
      // If the client disconnects later, it must not pay for this attempt.
      this.#attempt = undefined;
      this.#upstreamCall.onFailed(fault.kind);
    }
    this.#logOutcome(fault.kind);
    const reason = failure ? failureReason(failure.body, account) : (transport?.code ?? fault.error.code);
    const { model, sends } = this.#upstreamCall;
    const shown = { ...fault, error: errors.withoutSecrets(fault.error, { account, model }) };
    if (this.#trace) {
      this.#trace.reason = reason;
      this.#trace.providerRequestId = failure && providerRequestId(failure);
      this.#trace.isQuoted = !transport && errors.clientErrorFor(shown).message.includes(shown.error.message);
    }
    this.#endAttempt(fault.kind, this.#messageOf(account, failure) ?? reason);
    const logged = { request: this.#call.id, account: account.id, fault: fault.kind, status: failure?.status, reason };
    this.#services.log.warn('attempt.failed', logged);
    const rest = fault.kind === 'opaque_rejected' ? this.#upstreamCall.withoutOpaque?.() : undefined;
    // A call says once that an option was rejected, and the call without opaque values has no further one.
    this.#upstreamCall = rest ?? this.#upstreamCall;
    const isPartial = fault.kind === 'option_rejected' || rest !== undefined;
    this.#tell({ kind: 'fault', fault: shown, isPartial, isOnce: sends === 'once' });
    if (this.#tries.progress.step.kind === 'reject') this.#guard(() => this.#reject(shown, account, failure));
  }

  #reject(fault: Fault, account: Account, failure: UpstreamFailure | undefined): void {
    if (!failure) throw errors.clientErrorFor(fault);
    this.#upstreamCall.onRejected(failure, fault, account);
    this.#done.resolve(undefined);
  }

  #messageOf(account: Account, failure: UpstreamFailure | undefined): string | undefined {
    const message = failure && messageIn(failure.body);
    return message && providerMessage({ message, account, model: this.#trace?.model, sent: this.#sentBody });
  }

  #logOutcome(kind: FaultKind | undefined): void {
    this.#call.addLogFields({ attempts: attemptCount(this.#tries.progress) });
    if (!kind) return;
    const { faults } = this.#call.logFields;
    this.#call.addLogFields({ faults: [...(Array.isArray(faults) ? faults : []), kind] });
  }
}
