/** One attempt on one account: listens to its upstream, and is what the handler of the response sees of it. */
import type { Account } from '../catalog/index.ts';
import type { Fault, UpstreamFailure } from '../dialects/index.ts';
import { crashPoint } from '../ledger/index.ts';
import type { HttpHeaders } from '../platform/http/index.ts';
import type { AttemptTrace } from '../platform/web/index.ts';
import type { TransportError, UpstreamExchange, UpstreamListener } from '../providers/upstream/index.ts';
import type { FaultKind } from '../rules/index.ts';
import { faultOf, redirected } from './client-error.ts';
import type { ResponseHandler, ResponseHead, UpstreamControl } from './upstream-call.ts';

/** More of an error body is not read: its beginning says what failed. */
const MAX_ERROR_BYTES = 64 * 1024;

export interface ErrorResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly chunks: Buffer[];
  bytes: number;
}

export interface AttemptHost {
  onBytes(trace: AttemptTrace): void;
  onResponse(head: ResponseHead, upstream: UpstreamControl): ResponseHandler;
  finish(handler: ResponseHandler, account: Account, error?: TransportError): void;
  done(kind: FaultKind | undefined): void;
  onErrorStatus(response: ErrorResponse, account: Account): void;
  /** Without `failure` there was no error status: the transport failed, or the response itself was an error. */
  fail(fault: Fault, account: Account, failure: UpstreamFailure | undefined, transport?: TransportError): void;
}

export class AccountAttempt implements UpstreamListener, UpstreamControl {
  exchange: UpstreamExchange | undefined;
  readonly account: Account;
  readonly #host: AttemptHost;
  #handler: ResponseHandler | undefined;
  #errorResponse: ErrorResponse | undefined;
  readonly #trace: AttemptTrace;
  #isSettled = false;

  constructor(host: AttemptHost, account: Account, trace: AttemptTrace) {
    this.#host = host;
    this.account = account;
    this.#trace = trace;
  }

  onHead(status: number, headers: HttpHeaders): void {
    crashPoint('upstream.head_received');
    this.#trace.status = status;
    // The API of a provider never redirects. Its address would lead the client around the gateway.
    if (status >= 300 && status < 400) return this.reject(redirected(status));
    if (status >= 400) this.#errorResponse = { status, headers, chunks: [], bytes: 0 };
    else this.#handler = this.#host.onResponse({ status, headers, account: this.account }, this);
  }

  onData(chunk: Buffer, isLast?: boolean): boolean {
    crashPoint('upstream.data_received');
    this.#host.onBytes(this.#trace);
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
    if (this.#handler) this.#host.finish(this.#handler, this.account);
    else if (this.#errorResponse) this.#host.onErrorStatus(this.#errorResponse, this.account);
  }

  onError(error: TransportError): void {
    if (this.#isSettled) return;
    if (this.#handler) this.#host.finish(this.#handler, this.account, error);
    else this.#host.fail(faultOf(error), this.account, undefined, error);
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
    this.#host.fail(fault, this.account, undefined);
  }

  done(kind?: FaultKind): void {
    this.#isSettled = true;
    this.exchange?.abort();
    this.#host.done(kind);
  }
}
