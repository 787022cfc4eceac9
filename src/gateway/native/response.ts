/**
 * The answer of a native call on its way to the client: bytes as they come, a tap beside them. Ends the answer only when what it cost
 * is on disk, and never ends a stream without a word.
 */
import { inOne } from '../../core/index.ts';
import type { Fault, HubUsage } from '../../dialects/index.ts';
import { type Dialect, type FaultKind, faultRow, type TextOperation } from '../../rules/index.ts';
import type { Trouble } from '../../upstream/index.ts';
import type { Call } from '../../web/index.ts';
import { guessUsage, type ImageCount, type Ticket } from '../billing/admission.ts';
import type { Caller } from '../caller.ts';
import type { Outlet, Outlets } from '../client-stream.ts';
import type { Head, Source, Taker } from '../failover.ts';
import type { ResponseStore } from '../stored/store.ts';
import { headersBack } from './headers.ts';
import { brokenOff, heartbeatOf } from './stream-error.ts';
import { type TapResult, tapStream, tapUnary } from './usage-tap.ts';

export interface RelayTask {
  readonly call: Call;
  readonly caller: Caller;
  readonly operation: TextOperation;
  readonly dialect: Dialect;
  readonly ticket: Ticket | undefined;
  readonly parcel: { readonly bytes: number; readonly images?: ImageCount | undefined };
  readonly parts: { readonly outlets: Outlets; readonly store: ResponseStore };
}

/** Answers up to this size leave in one write with their head. */
const HELD_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);
const CUT_SHORT = 'The provider broke off in the middle of its answer.';

export class Relay implements Taker {
  readonly #task: RelayTask;
  readonly #head: Head;
  readonly #tap: ReturnType<typeof tapStream>;
  readonly #source: Source;
  /** Undefined while nothing was told: an account that fails before that has no part in the answer of the next one. */
  #outlet: Outlet | undefined;
  readonly #isSse: boolean;
  /** The beginning of a unary answer, not yet written. Undefined once writing has begun. */
  #held: Buffer[] | undefined;
  #heldBytes = 0;
  /** The newest piece of a long unary answer: with it the client would have all, before what it cost is on disk. */
  #latest: Buffer | undefined;
  #bytes = 0;

  constructor(task: RelayTask, head: Head, source: Source) {
    const { call, dialect } = task;
    this.#task = task;
    this.#head = head;
    this.#source = source;
    this.#isSse = head.headers['content-type']?.includes('text/event-stream') === true;
    this.#tap = this.#isSse ? tapStream(dialect) : tapUnary(dialect);
    call.note({ account: head.account.id });
    if (!this.#isSse) this.#held = [];
    else {
      this.#begin();
      call.response.flushHeaders();
    }
  }

  onData(chunk: Buffer): boolean {
    this.#tap.push(chunk);
    this.#bytes += chunk.length;
    if (!this.#held) return this.#outlet?.write(this.#isSse ? chunk : this.#swap(chunk)) ?? true;
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes <= HELD_BYTES) return true;
    this.#latest = Buffer.concat(this.#held);
    this.#held = undefined;
    this.#begin();
    return true;
  }

  #swap(chunk: Buffer): Buffer {
    const before = this.#latest ?? EMPTY;
    this.#latest = chunk;
    return before;
  }

  onEnd(trouble?: Trouble): FaultKind | Fault | undefined {
    const result = this.#tap.end();
    if (trouble === undefined && result.isComplete) {
      this.#settle(result.usage);
      this.#finish(result);
      return undefined;
    }
    const kind = trouble?.kind ?? 'broken';
    // Nothing was told yet: another account may do better, and if not, the client gets a proper error.
    if (this.#held) return { kind, error: { code: faultRow(kind).code, message: CUT_SHORT } };
    this.#breakOff(result, kind);
    return kind;
  }

  /** The client left in the middle: it pays for what the upstream reported, or for about what it got. */
  leave(): void {
    const { usage } = this.#tap.end();
    // What was written is told at the end, which never came; what was read is known.
    this.#settle(usage?.estimated ? { ...usage, output: Math.max(usage.output, this.#guess().output) } : usage);
  }

  #settle(reported: HubUsage | undefined): void {
    const { call, ticket, parcel } = this.#task;
    const usage = reported ?? this.#guess();
    call.note(usageNote(usage));
    ticket?.settle(usage, { accountId: this.#head.account.id, ...(parcel.images && { images: parcel.images }) });
  }

  #guess(): HubUsage {
    return guessUsage(this.#task.parcel.bytes, this.#bytes * this.#tap.share);
  }

  #finish({ id }: TapResult): void {
    const { operation, caller, call, ticket, parts } = this.#task;
    const { userId, store } = caller.key;
    if (operation === 'responses.create' && id !== undefined && store)
      parts.store.save({ id, userId, accountId: this.#head.account.id });
    if (operation === 'responses.delete') void parts.store.drop(call.params.response_id ?? '', userId);
    if (ticket) call.goOn(ticket.flushed(), () => this.#end());
    else this.#end();
  }

  #end(): void {
    if (!this.#held) return this.#outlet?.end(this.#latest);
    this.#begin().end(inOne(this.#held));
  }

  /** A stream says that it broke; half a JSON text cannot, so its connection is cut and nobody takes it for whole. */
  #breakOff({ id, sequence }: TapResult, kind: FaultKind): void {
    const { call, dialect } = this.#task;
    if (!this.#isSse) return void call.response.destroy();
    const about = { requestId: call.id, id, sequence, isTimeout: kind === 'silent' };
    this.#outlet?.end((this.#outlet.isAtBoundary ? '' : '\n\n') + brokenOff[dialect](about));
  }

  #begin(): Outlet {
    const { call, dialect, parts } = this.#task;
    const headers = headersBack(call, this.#head.headers);
    call.response.writeHead(this.#head.status, this.#isSse ? asStream(headers) : headers);
    this.#outlet = parts.outlets.open(call, {
      heartbeat: this.#isSse ? () => heartbeatOf(dialect) : undefined,
      onDrain: () => this.#source.resume(),
      onStalled: () => call.response.destroy(),
    });
    return this.#outlet;
  }
}

/** No proxy in between may collect or re-code a stream, and heartbeats may make it longer than it was. */
function asStream({ 'content-length': _, ...headers }: Record<string, string>): Record<string, string> {
  return { ...headers, 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' };
}

export const usageNote = (usage: HubUsage): Record<string, number> => ({
  tokensIn: usage.input,
  tokensCached: usage.cacheRead,
  tokensOut: usage.output,
});
