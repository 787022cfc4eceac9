/**
 * The answer of a native call on its way to the client: bytes as they come, a tap beside them. Ends the answer only when what it cost
 * is on disk, and never ends a stream without a word.
 */
import { concatBuffers } from '../../core/index.ts';
import type { Fault, HubUsage } from '../../dialects/index.ts';
import { type Dialect, type FaultKind, faultRow, type TextOperation } from '../../rules/index.ts';
import type { TransportError } from '../../upstream/index.ts';
import type { Call } from '../../web/index.ts';
import { type Admission, type ImageCount, roughUsage } from '../billing/admission.ts';
import type { Caller } from '../caller.ts';
import type { ClientStream, ClientStreams } from '../client-stream.ts';
import type { ResponseHandler, ResponseHead, UpstreamControl } from '../failover.ts';
import type { ResponseStore } from '../stored/store.ts';
import { responseHeaders } from './headers.ts';
import { heartbeatFor, truncationEvent } from './stream-error.ts';
import { type TapResult, tapStream, tapUnary } from './usage-tap.ts';

export interface NativeResponseTask {
  readonly call: Call;
  readonly caller: Caller;
  readonly operation: TextOperation;
  readonly dialect: Dialect;
  readonly ticket: Admission | undefined;
  readonly parcel: { readonly bytes: number; readonly images?: ImageCount | undefined };
  readonly parts: { readonly outlets: ClientStreams; readonly store: ResponseStore };
}

/** Answers up to this size leave in one write with their head. */
const HELD_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);
const TRUNCATED = 'The provider broke off in the middle of its answer.';

export class NativeResponse implements ResponseHandler {
  readonly #task: NativeResponseTask;
  readonly #head: ResponseHead;
  readonly #tap: ReturnType<typeof tapStream>;
  readonly #upstream: UpstreamControl;
  /** Undefined while nothing was told: an account that fails before that has no part in the answer of the next one. */
  #stream: ClientStream | undefined;
  readonly #isSse: boolean;
  /** The beginning of a unary answer, not yet written. Undefined once writing has begun. */
  #held: Buffer[] | undefined;
  #heldBytes = 0;
  /** The newest piece of a long unary answer: with it the client would have all, before what it cost is on disk. */
  #lastChunk: Buffer | undefined;
  #bytes = 0;

  constructor(task: NativeResponseTask, head: ResponseHead, source: UpstreamControl) {
    const { call, dialect } = task;
    this.#task = task;
    this.#head = head;
    this.#upstream = source;
    this.#isSse = head.headers['content-type']?.includes('text/event-stream') === true;
    this.#tap = this.#isSse ? tapStream(dialect) : tapUnary(dialect);
    call.addLogFields({ account: head.account.id });
    if (!this.#isSse) this.#held = [];
    else {
      this.#writeHead();
      call.response.flushHeaders();
    }
  }

  onData(chunk: Buffer): boolean {
    this.#tap.push(chunk);
    this.#bytes += chunk.length;
    if (!this.#held) return this.#stream?.write(this.#isSse ? chunk : this.#holdBackLastChunk(chunk)) ?? true;
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes <= HELD_BYTES) return true;
    this.#lastChunk = Buffer.concat(this.#held);
    this.#held = undefined;
    this.#writeHead();
    return true;
  }

  #holdBackLastChunk(chunk: Buffer): Buffer {
    const before = this.#lastChunk ?? EMPTY;
    this.#lastChunk = chunk;
    return before;
  }

  onEnd(trouble?: TransportError): FaultKind | Fault | undefined {
    const result = this.#tap.end();
    if (trouble === undefined && result.isComplete) {
      this.#settle(result.usage);
      this.#finish(result);
      return undefined;
    }
    const kind = trouble?.kind ?? 'failed';
    // Nothing was told yet: another account may do better, and if not, the client gets a proper error.
    if (this.#held) return { kind, error: { code: faultRow(kind).code, message: TRUNCATED } };
    this.#endWithError(result, kind);
    return kind;
  }

  /** The client left in the middle: it pays for what the upstream reported, or for about what it got. */
  onClientGone(): void {
    const { usage } = this.#tap.end();
    // What was written is told at the end, which never came; what was read is known.
    this.#settle(usage?.estimated ? { ...usage, output: Math.max(usage.output, this.#estimate().output) } : usage);
  }

  #settle(reported: HubUsage | undefined): void {
    const { call, ticket, parcel } = this.#task;
    const usage = reported ?? this.#estimate();
    call.addLogFields(usageLogFields(usage));
    ticket?.settle(usage, { accountId: this.#head.account.id, ...(parcel.images && { images: parcel.images }) });
  }

  #estimate(): HubUsage {
    return roughUsage(this.#task.parcel.bytes, this.#bytes * this.#tap.textRatio);
  }

  #finish({ id }: TapResult): void {
    const { operation, caller, call, ticket, parts } = this.#task;
    const { userId, store } = caller.key;
    if (operation === 'responses.create' && id !== undefined && store)
      parts.store.save({ id, userId, accountId: this.#head.account.id });
    if (operation === 'responses.delete') void parts.store.drop(call.params.response_id ?? '', userId);
    if (ticket) call.runAfter(ticket.flushed(), () => this.#end());
    else this.#end();
  }

  #end(): void {
    if (!this.#held) return this.#stream?.end(this.#lastChunk);
    this.#writeHead().end(concatBuffers(this.#held));
  }

  /** A stream says that it broke; half a JSON text cannot, so its connection is cut and nobody takes it for whole. */
  #endWithError({ id, sequence }: TapResult, kind: FaultKind): void {
    const { call, dialect } = this.#task;
    if (!this.#isSse) return void call.response.destroy();
    const about = { requestId: call.id, id, sequence, isTimeout: kind === 'timeout' };
    this.#stream?.end((this.#stream.isAtBoundary ? '' : '\n\n') + truncationEvent[dialect](about));
  }

  #writeHead(): ClientStream {
    const { call, dialect, parts } = this.#task;
    const headers = responseHeaders(call, this.#head.headers);
    call.response.writeHead(this.#head.status, this.#isSse ? asStream(headers) : headers);
    this.#stream = parts.outlets.open(call, {
      heartbeat: this.#isSse ? () => heartbeatFor(dialect) : undefined,
      onDrain: () => this.#upstream.resume(),
      onStalled: () => call.response.destroy(),
    });
    return this.#stream;
  }
}

/** No proxy in between may collect or re-code a stream, and heartbeats may make it longer than it was. */
function asStream({ 'content-length': _, ...headers }: Record<string, string>): Record<string, string> {
  return { ...headers, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' };
}

export const usageLogFields = (usage: HubUsage): Record<string, number> => ({
  tokensIn: usage.input,
  tokensCached: usage.cacheRead,
  tokensOut: usage.output,
});
