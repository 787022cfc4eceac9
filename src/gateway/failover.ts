/**
 * One call against the accounts of a group: lease one, send, and either hand the answer to its taker or classify the failure
 * and try the next account, as rules/faults.ts says. Another account is tried only while nothing has reached the client.
 */
import type { Account } from '../catalog/index.ts';
import { type ApiError, fail, type HttpHeaders, type Log } from '../core/index.ts';
import type { Fault, UpstreamFailure } from '../dialects/index.ts';
import type { OnStep } from '../ledger/index.ts';
import type { Affinity, Pool } from '../pool/index.ts';
import { type FaultKind, faultRow } from '../rules/index.ts';
import type {
  TransportError,
  UpstreamClient,
  UpstreamExchange,
  UpstreamListener,
  UpstreamRequest,
} from '../upstream/index.ts';
import type { Call } from '../web/index.ts';

export interface FailoverServices {
  readonly pool: Pool;
  readonly upstream: UpstreamClient;
  readonly log: Log;
  readonly onStep?: OnStep | undefined;
}

export interface UpstreamCall {
  readonly accounts: readonly Account[];
  readonly affinity?: Affinity;
  /** The same call without opaque values; tried once when an upstream rejects one of them. */
  readonly withoutOpaque?: UpstreamCall | undefined;
  build(account: Account): UpstreamRequest;
  /** A good head arrived; from here on the answer belongs to the taker. */
  onResponse(head: ResponseHead, source: UpstreamControl): ResponseHandler;
  classify(failure: UpstreamFailure): Fault;
  /** The request itself is at fault: tell the client in the upstream's words. */
  onRejected(failure: UpstreamFailure, fault: Fault, account: Account): void;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly account: Account;
}

/** What a taker can do to the upstream while it takes. */
export interface UpstreamControl {
  resume(): void;
  abort(): void;
  /** The answer turned out to be a failure before anything was passed on: go on as if the head had said so. */
  reject(fault: Fault): void;
  /** The client has all it gets, whatever the upstream still does. Says how the account did. */
  done(kind?: FaultKind): void;
}

export interface ResponseHandler {
  /** False asks for a pause. */
  onData(chunk: Buffer): boolean;
  /** The upstream is done, well or badly. Says how the account did, or that nothing was passed on and another may be tried. */
  onEnd(trouble?: TransportError): FaultKind | Fault | undefined;
}

const MAX_ATTEMPTS = 3;
const MAX_ERROR_BYTES = 64 * 1024;

/** Settles when the client has its answer or is gone; rejects with the error it should be told. */
export function runWithFailover(call: Call, plan: UpstreamCall, parts: FailoverServices): Promise<void> {
  return new Failover(call, plan, parts).run();
}

class Failover {
  readonly #call: Call;
  #plan: UpstreamCall;
  readonly #parts: FailoverServices;
  readonly #tried: string[] = [];
  readonly #faults: FaultKind[] = [];
  readonly #done = Promise.withResolvers<void>();
  #exchange: UpstreamExchange | undefined;
  #release: (fault?: { kind: FaultKind; restMs?: number | undefined }) => void = () => {};

  constructor(call: Call, plan: UpstreamCall, parts: FailoverServices) {
    this.#call = call;
    this.#plan = plan;
    this.#parts = parts;
  }

  run(): Promise<void> {
    // Wired before anything is sent: an abort that comes before the upstream's head must not be lost.
    this.#call.onClientGone(() => {
      this.#exchange?.abort();
      this.#release();
      this.#done.resolve();
    });
    this.#next(undefined);
    return this.#done.promise;
  }

  #next(last: ApiError | undefined): void {
    if (this.#call.isClientGone) return;
    const open = this.#plan.accounts.filter((account) => !this.#tried.includes(account.id));
    if (open.length === 0 || this.#tried.length >= MAX_ATTEMPTS) return this.#giveUp(last ?? noAccountConfigured());
    const lease = this.#parts.pool.lease(open, this.#plan.affinity);
    if (!('account' in lease)) return this.#giveUp(last ?? allAccountsBusy(lease.reason, lease.retryMs));
    this.#tried.push(lease.account.id);
    this.#release = lease.release;
    try {
      this.#send(lease.account, this.#plan.build(lease.account));
    } catch (error) {
      this.#release();
      this.#done.reject(error);
    }
  }

  #send(account: Account, request: UpstreamRequest): void {
    const { upstream, onStep } = this.#parts;
    const trial = new Attempt(this, account, onStep);
    this.#exchange = upstream.send(request, trial);
    trial.exchange = this.#exchange;
    onStep?.('upstream.asked');
  }

  // ---------------------------------------------------------------- told by a trial

  take(head: ResponseHead, source: UpstreamControl): ResponseHandler {
    return this.#plan.onResponse(head, source);
  }

  /** A bug in a taker must end this call, and not silently: thrown into the socket's callback it would hang it. */
  finish(taker: ResponseHandler, account: Account, trouble?: TransportError): void {
    try {
      const verdict = taker.onEnd(trouble);
      if (typeof verdict === 'object') this.fail(verdict, account, undefined);
      else this.done(verdict);
    } catch (error) {
      this.#release();
      this.#done.reject(error);
    }
  }

  /** The client has all it gets. */
  done(kind: FaultKind | undefined): void {
    this.#release(kind && { kind });
    this.#note(kind);
    this.#done.resolve();
  }

  refused({ status, headers, chunks }: Rejection, account: Account): void {
    const failure = { status, headers, body: Buffer.concat(chunks).toString('utf8') };
    this.fail(this.#plan.classify(failure), account, failure);
  }

  fail(fault: Fault, account: Account, failure: UpstreamFailure | undefined): void {
    this.#release({ kind: fault.kind, restMs: fault.restMs });
    this.#note(fault.kind);
    this.#parts.log.warn('attempt.failed', {
      request: this.#call.id,
      account: account.id,
      fault: fault.kind,
      status: failure?.status,
    });
    if (fault.kind === 'opaque_rejected' && this.#plan.withoutOpaque) {
      this.#plan = { ...this.#plan.withoutOpaque, affinity: { accountId: account.id } };
      this.#tried.pop();
      return this.#next(undefined);
    }
    if (faultRow(fault.kind).failover) return this.#next(clientErrorFor(fault));
    if (!failure) return this.#giveUp(clientErrorFor(fault));
    try {
      this.#plan.onRejected(failure, fault, account);
      this.#done.resolve();
    } catch (error) {
      this.#done.reject(error);
    }
  }

  #giveUp(error: ApiError): void {
    this.#done.reject(error);
  }

  #note(kind: FaultKind | undefined): void {
    if (kind) this.#faults.push(kind);
    this.#call.addLogFields({
      attempts: this.#tried.length,
      faults: this.#faults.length > 0 ? this.#faults : undefined,
    });
  }
}

/** An answer that is a failure, as far as it has come. */
interface Rejection {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly chunks: Buffer[];
  size: number;
}

/** What one account makes of the call: hears its upstream, and is what the taker sees of it. */
class Attempt implements UpstreamListener, UpstreamControl {
  exchange: UpstreamExchange | undefined;
  readonly #attempt: Failover;
  readonly #account: Account;
  readonly #onStep: OnStep | undefined;
  #taker: ResponseHandler | undefined;
  #refusal: Rejection | undefined;
  #isSettled = false;

  constructor(attempt: Failover, account: Account, onStep: OnStep | undefined) {
    this.#attempt = attempt;
    this.#account = account;
    this.#onStep = onStep;
  }

  onHead(status: number, headers: HttpHeaders): void {
    this.#onStep?.('upstream.answered');
    if (status >= 400) this.#refusal = { status, headers, chunks: [], size: 0 };
    else this.#taker = this.#attempt.take({ status, headers, account: this.#account }, this);
  }

  onData(chunk: Buffer): boolean {
    this.#onStep?.('upstream.told');
    if (this.#taker) return this.#taker.onData(chunk);
    const refusal = this.#refusal;
    if (refusal && refusal.size < MAX_ERROR_BYTES) refusal.chunks.push(chunk);
    if (refusal) refusal.size += chunk.length;
    return true;
  }

  onEnd(): void {
    if (this.#isSettled) return;
    if (this.#taker) this.#attempt.finish(this.#taker, this.#account);
    else if (this.#refusal) this.#attempt.refused(this.#refusal, this.#account);
  }

  onError(trouble: TransportError): void {
    if (this.#isSettled) return;
    if (this.#taker) this.#attempt.finish(this.#taker, this.#account, trouble);
    else this.#attempt.fail(faultOf(trouble), this.#account, undefined);
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
    this.#attempt.fail(fault, this.#account, undefined);
  }

  done(kind?: FaultKind): void {
    this.#isSettled = true;
    this.exchange?.abort();
    this.#attempt.done(kind);
  }
}

const faultOf = (trouble: TransportError): Fault => ({
  kind: trouble.kind,
  error: { code: faultRow(trouble.kind).code, message: TRANSPORT_MESSAGES[trouble.kind] },
});

const TRANSPORT_MESSAGES: Readonly<Record<TransportError['kind'], string>> = {
  unreachable: 'The provider cannot be reached.',
  failed: 'The provider broke the connection before it answered.',
  timeout: 'The provider did not answer in time.',
};

/** What the client is told when nobody is left to try. Faults of our accounts are not the caller's business: they read as overload. */
export function clientErrorFor({ kind, error, restMs }: Fault): ApiError {
  const row = faultRow(kind);
  // A fault of the request is told under its own code; nobody else's business is.
  if (!row.failover) return fail(error.code, error.message, error.param === undefined ? {} : { param: error.param });
  const wait =
    kind === 'rate_limited'
      ? (error.retryAfterMs ?? restMs ?? row.cooldownMs)
      : kind === 'overloaded'
        ? (error.retryAfterMs ?? restMs)
        : undefined;
  const retryAfter = wait === undefined ? undefined : wait / 1000;
  if (kind === 'rate_limited' && retryAfter !== undefined)
    return fail(row.code, limitedFor(retryAfter), { retryAfter });
  return fail(row.code, MESSAGES[kind] ?? error.message, retryAfter === undefined ? {} : { retryAfter });
}

const limitedFor = (seconds: number): string =>
  `The provider's rate limit is reached. Please try again in ${seconds}s.`;

const MESSAGES: Partial<Record<FaultKind, string>> = {
  quota_exhausted: 'No upstream account can take the request now. Try again later.',
  credential: 'No upstream account can take the request now. Try again later.',
  overloaded: 'The provider is overloaded. Try again shortly.',
  failed: 'The provider failed to answer.',
};

const noAccountConfigured = (): ApiError =>
  fail('server_is_overloaded', 'No upstream account is set up for this group and endpoint.');

function allAccountsBusy(because: FaultKind | 'full', retryMs: number): ApiError {
  const retryAfter = Math.max(1, Math.ceil(retryMs / 1000));
  if (because === 'rate_limited') return fail('rate_limit_exceeded', limitedFor(retryAfter), { retryAfter });
  return fail('server_is_overloaded', 'Every upstream account is busy or resting. Try again shortly.', { retryAfter });
}
