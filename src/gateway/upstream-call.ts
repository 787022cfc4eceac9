/**
 * One request to a provider, on one account after another:
 * what the native and the converted path say about it, and what they are told.
 */
import type { Account, Secrets } from '../catalog/index.ts';
import type { Log, MaybePromise } from '../core/index.ts';
import type { Fault, UpstreamFailure } from '../dialects/index.ts';
import type { HttpHeaders } from '../platform/http/index.ts';
import type { AccountQueue, AccountUse, Affinity, Pool } from '../providers/pool/index.ts';
import type { TransportError, UpstreamClient, UpstreamRequest } from '../providers/upstream/index.ts';
import type { FaultKind } from '../rules/index.ts';
import type { ReadOn } from './read-on.ts';
import type { Tries, TriesServices } from './try-ways.ts';

export interface AttemptServices extends TriesServices {
  readonly pool: Pool;
  readonly accountQueue: AccountQueue;
  readonly upstream: UpstreamClient;
  readonly readOn: ReadOn;
  readonly log: Log;
  readonly samplesReplies?: boolean | undefined;
}

export interface UpstreamCall {
  readonly accounts: readonly Account[];
  readonly affinity?: Affinity;
  readonly userId?: string;
  /** `once`: not tried on another account when the first may have accepted it. */
  readonly sends?: 'again' | 'once';
  /** What the account is used for; a cooldown may concern this use only. */
  readonly use?: AccountUse;
  /** The model of the request; the client reads its own name for it in errors of the provider. */
  readonly model?: Secrets['model'];
  /** Of the call; without it, these accounts are all that can serve it. */
  readonly tries?: Tries | undefined;
  /**
   * The same call without opaque values, after a provider rejected one of them.
   * Undefined when it has none, or none any more.
   */
  withoutOpaque?(): UpstreamCall | undefined;
  build(account: Account): MaybePromise<UpstreamRequest>;
  /** The attempt sent nothing to the client. */
  onFailed(kind: FaultKind): void;
  onResponse(head: ResponseHead, upstream: UpstreamControl): ResponseHandler;
  /**
   * A sign of life for a client that has waited for a slot: the head of its stream, then heartbeats. False when there is
   * none any more, because the reply has begun or is no stream.
   */
  keepAlive?(): boolean;
  classify(failure: UpstreamFailure, account: Account): Fault;
  /**
   * The request itself is at fault: sends the provider's error to the client,
   * or throws that of the fault, which has no secrets.
   */
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
  /**
   * The response turned out to be a failure before the client received anything;
   * continues as if the status had been an error.
   */
  reject(fault: Fault): void;
  /**
   * The client has its whole response, whatever the upstream still sends. `kind` is the fault of the account, if any.
   */
  done(kind?: FaultKind): void;
}

export interface ResponseHandler {
  /**
   * Asked when the client disconnects.
   * True: content has begun and usage is not reported, so the handler reads on for a short time.
   */
  readonly readsOn?: boolean;
  /** Nothing of a reply has arrived yet, and nothing that says that the model works on one. */
  readonly isSilent?: boolean;
  /** Returns false to pause the upstream. With `isLast`, `onEnd` follows in the same turn. */
  onData(chunk: Buffer, isLast?: boolean): boolean;
  /**
   * The upstream ended. Returns the fault of the account;
   * a `Fault` says that the client got nothing and another account may be tried.
   */
  onEnd(error?: TransportError): FaultKind | Fault | undefined;
}
