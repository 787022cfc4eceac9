/**
 * The response of a native call, while a tap reads usage.
 * Ends when the charge is on disk, and never a truncated stream without an error event.
 */
import type { Secrets } from '../../catalog/index.ts';
import { concatBuffers, EVENT_STREAM, isEventStream, lastBlockEnd } from '../../core/index.ts';
import { type Fault, type HubUsage, NO_USAGE } from '../../dialects/index.ts';
import { type ClientStream, UNBUFFERED } from '../../platform/web/index.ts';
import type { TransportError } from '../../providers/upstream/index.ts';
import * as rules from '../../rules/index.ts';
import type { Admission } from '../billing/admission.ts';
import { type AttemptFailure, hasTokens } from '../billing/failed-usage.ts';
import { timesOf } from '../billing/output-meter.ts';
import { stillborn } from '../billing/reply-opening.ts';
import { chargedUsage, usageLogFields } from '../billing/usage.ts';
import { faultKindOf } from '../client-error.ts';
import { droppedHeaders } from '../dropped.ts';
import type { CallSource, GatewayServices } from '../services.ts';
import type { ResponseHandler, ResponseHead, UpstreamControl } from '../upstream-call.ts';
import type { EarlyStream } from './early-stream.ts';
import { EventFilter, redactBytes } from './event-filter.ts';
import { responseHeaders } from './headers.ts';
import { estimateImageUsage, ImageTap, requestedCount } from './images/usage.ts';
import type { BackgroundCall, MadeObject, NativeRequest } from './native-request.ts';
import { ObjectTap } from './object-tap.ts';
import { heartbeatFor, imageStreamError, type StreamEnd, streamErrorEvent } from './stream-error.ts';
import { StreamOpening } from './stream-opening.ts';
import { StreamTap } from './stream-tap.ts';
import { UnaryTap } from './unary-tap.ts';
import { NOTHING, type Tap, type TapResult } from './usage-tap.ts';

export interface NativeResponseContext extends CallSource {
  readonly services: Pick<GatewayServices, 'clientStreams' | 'store'>;
  readonly dialect: rules.Dialect;
  readonly model?: Secrets['model'];
  readonly request: Pick<
    NativeRequest,
    'inputTokens' | 'images' | 'searches' | 'repliesAs' | 'dropped' | 'hidesUsage' | 'streamType' | 'keeps' | 'forget'
  >;
  readonly admission: Admission | undefined;
  /** Another account may be tried while the client has received nothing. */
  readonly canFailOver: boolean;
  /** Follows the response and charges it later; then there is no admission. */
  readonly background?: BackgroundCall | undefined;
  readonly early?: EarlyStream | undefined;
}

/** A unary response up to this size is written together with its head. */
const HELD_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);
const BLANK_LINE = Buffer.from('\n\n');
const DONE = Buffer.from('data: [DONE]\n\n');
/** Clients of the other dialects read a last event without one, because servers often omit it. */
const NEEDS_BLANK_LINE: ReadonlySet<rules.Dialect> = new Set<rules.Dialect>(['messages', 'responses']);
/** The provider keeps what these made, and later requests name it. */
const STORING: ReadonlySet<rules.InferenceOperation> = new Set(['responses.create', 'interactions.create'] as const);
/** What the provider says of these is an empty object. */
const EMPTY_REPLIES: ReadonlySet<string> = new Set(['interactions.delete', 'caches.delete']);
const NO_STREAM = { code: 'upstream_error', message: 'The provider did not respond with a stream.' } as const;
const TRUNCATED = 'The provider closed the connection in the middle of its response.';

export class NativeResponse implements ResponseHandler {
  readonly #context: NativeResponseContext;
  readonly #head: ResponseHead;
  readonly #upstream: UpstreamControl;
  readonly #tap: Tap;
  readonly #isSse: boolean;
  /** Undefined until the head is written: a failed attempt must not register a client stream for the next attempt. */
  #stream: ClientStream | undefined;
  /** The beginning of a unary response, not yet written. Undefined once writing has begun. */
  #held: Buffer[] | undefined;
  #heldBytes = 0;
  /**
   * The newest chunk of a long unary response, or the last one of a stream:
   * goes out with the end, when the charge is on disk.
   */
  #lastChunk: Buffer | undefined;
  #hasData = false;
  /** Bytes of content since the client is gone. */
  #unread = 0;
  #isSettled = false;
  #cancelWait: () => void = () => {};
  readonly #filter: EventFilter | undefined;
  /** Until the reply of a stream begins. What arrives is held back while another account may be tried. */
  #opening: StreamOpening | undefined;

  constructor(context: NativeResponseContext, head: ResponseHead, upstream: UpstreamControl) {
    const { call, dialect } = context;
    this.#context = context;
    this.#head = head;
    this.#upstream = upstream;
    this.#isSse = !isFile(context) && isEventStream(head.headers['content-type'] ?? context.request.streamType);
    this.#tap = tapFor(context, this.#isSse);
    this.#filter = this.#isSse ? new EventFilter(this.#secrets, context.request.hidesUsage === true) : undefined;
    const { images, repliesAs } = context.request;
    if (this.#isSse && !images && !context.background)
      this.#opening = new StreamOpening(dialect, this.#secrets, repliesAs);
    call.addLogFields({ account: head.account.id });
    if (!this.#isSse) {
      this.#held = [];
      // The provider responds with JSON although a stream was asked for; the client gets it as it is.
      if (context.early?.isOpen === false) context.early.take(() => {});
    } else {
      // The head waits for the first bytes, so that a stream without any
      // keeps its status and another account may be tried.
      this.#cancelWait = context.services.clientStreams.afterSilence(() => this.#endSilence());
      call.onClose(this.#cancelWait);
    }
  }

  get #secrets(): Secrets {
    return { account: this.#head.account, model: this.#context.model };
  }

  #beginStream(): void {
    const { call } = this.#context;
    if (this.#stream) return;
    this.#cancelWait();
    this.#writeHead();
    call.onInterrupted(() => this.#endInterrupted());
  }

  /** The client gets a head. While the reply has not begun, it gets heartbeats, and another account may still be tried. */
  #endSilence(): void {
    const { call, canFailOver, early } = this.#context;
    if (canFailOver && this.#opening) return early?.open();
    this.#beginStream();
    call.response.flushHeaders();
  }

  /** The provider has sent nothing yet that belongs to a reply, and does not say that it works on one. */
  get isSilent(): boolean {
    return this.#opening?.state === 'nothing';
  }

  get #isUnsent(): boolean {
    return this.#held !== undefined || (this.#isSse && !this.#stream);
  }

  onData(chunk: Buffer, isLast = false): boolean {
    const opening = this.#opening;
    if (!opening) return this.#pass(chunk, isLast);
    const fault = opening.push(chunk);
    if (fault === undefined) this.#opening = undefined;
    if (!this.#context.canFailOver) return this.#pass(chunk, isLast);
    if (fault === 'unknown') return true;
    if (fault === undefined) return this.#pass(opening.bytes, isLast);
    this.#cancelWait();
    this.#upstream.reject(fault);
    return true;
  }

  #pass(chunk: Buffer, isLast = false): boolean {
    if (this.#isSse) this.#beginStream();
    this.#tap.push(chunk);
    this.#hasData = true;
    if (this.#context.call.isClientGone) return this.#readOn(chunk);
    if (this.#isSse && this.#context.background?.isAccepted === false) this.#accept(this.#tap.end());
    if (!this.#isSse && this.#context.early?.isOpen) return true;
    if (this.#isSse) return this.#writeEvents(chunk, isLast);
    if (!this.#held) return this.#stream?.write(this.#holdBackLastChunk(chunk)) ?? true;
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes <= HELD_BYTES) return true;
    this.#lastChunk = Buffer.concat(this.#held);
    this.#held = undefined;
    this.#writeHead();
    return true;
  }

  #writeEvents(events: Buffer, isLast: boolean): boolean {
    const bytes = this.#filter?.push(events) ?? events;
    if (isLast) {
      this.#lastChunk = bytes;
      return true;
    }
    if (bytes.length > 0) return this.#stream?.write(bytes) ?? true;
    // The head is not written yet if these are the first bytes.
    this.#context.call.response.flushHeaders();
    return true;
  }

  #holdBackLastChunk(chunk: Buffer): Buffer {
    const before = this.#lastChunk ?? EMPTY;
    this.#lastChunk = chunk;
    return before;
  }

  /** From here on the response outlives this call: the client may come back for it. */
  #accept({ id }: TapResult): void {
    const { background, caller, services } = this.#context;
    if (!background || background.isAccepted || id === undefined) return;
    const accountId = this.#head.account.id;
    background.accepted(id, accountId);
    services.store.save({ id, userId: caller.key.userId, accountId, itemIds: [] });
  }

  onEnd(error?: TransportError): rules.FaultKind | Fault | undefined {
    const fault = this.#endOpening(error);
    if (fault) return fault;
    const result = this.#tap.end();
    this.#accept(result);
    // The client already has the head of a stream, but the provider sent no stream.
    if (!this.#isSse && this.#context.early?.isOpen) return { kind: 'no_result', error: NO_STREAM };
    // A stream is complete once its terminal event has passed, whatever happens to its connection afterwards.
    const isEmptied = EMPTY_REPLIES.has(this.#context.operation);
    const isWhole = result.isComplete || result.isFinished === true || isEmptied;
    if (error === undefined ? isWhole : result.isComplete && this.#isSse) {
      // A call that ends in the provider's error costs nothing (ADR 13), unless its client has left before. Nor does one without a reply.
      if (this.#opening || (result.isError && !this.#context.call.isClientGone)) {
        this.bookFailed(this.#opening ? 'truncated' : (this.#errorOf(result) ?? 'failed'));
        this.#isSettled = true;
      } else this.#settle(result, !result.isError);
      this.#finish(result);
      return this.#opening ? 'truncated' : this.#errorOf(result);
    }
    const kind = error?.kind ?? 'truncated';
    this.#cancelWait();
    // The client has nothing yet: another account may be tried, and if none is left, the client gets a proper error.
    if (this.#isUnsent) return { kind, error: { code: rules.faultRow(kind).code, message: TRUNCATED } };
    // The provider ended its response properly, and the client has it:
    // it is charged, whatever it lacks. A failed request is not (G 8).
    const isLeft = this.#context.call.isClientGone;
    if ((error === undefined || isLeft) && this.#hasData && !this.#opening) this.#settle(result, false);
    if (isLeft) return kind;
    this.bookFailed(kind);
    this.#whenCharged(() => {
      // A truncated JSON body gets its connection closed, so that no client takes it for complete.
      if (this.#isSse) this.#endWithError(result, kind === 'timeout' ? 'timeout' : 'truncated');
      else this.#context.call.response.destroy();
    });
    return kind;
  }

  /** The fault of a stream that ends before its reply has begun, where another account may be tried. */
  #endOpening(error?: TransportError): Fault | undefined {
    const opening = this.#opening;
    if (!opening) return undefined;
    const outcome = error ? 'unknown' : opening.end();
    if (outcome === undefined) this.#opening = undefined;
    if (!this.#context.canFailOver) return undefined;
    this.#cancelWait();
    if (typeof outcome === 'object') return outcome;
    if (outcome === undefined) this.#pass(opening.bytes);
    else if (!this.#context.call.isClientGone) return stillborn(error?.kind ?? 'truncated');
    return undefined;
  }

  /** What an error at the end of a stream says about the account. */
  #errorOf({ isError, errorCode }: TapResult): rules.FaultKind | undefined {
    if (!isError || !this.#isSse) return undefined;
    const kind = errorCode === undefined ? 'failed' : faultKindOf(errorCode);
    return rules.faultRow(kind).failover ? kind : undefined;
  }

  /** The content has begun and its usage is not reported yet. */
  get readsOn(): boolean {
    if (this.#context.request.keeps) return !this.#isSettled;
    if (this.#isSettled || !this.#isSse) return false;
    const { isComplete, isError, usage } = this.#tap.end();
    if (isError) return false;
    if (usage === undefined || usage.estimated === true) return this.#tap.isFinishing || this.#tap.outputTokens > 0;
    return !isComplete && this.#tap.isFinishing;
  }

  /** The provider goes on with content that the client will not read. */
  #readOn({ length }: Buffer): boolean {
    if (!this.#tap.isFinishing) this.#unread += length;
    if (this.#unread > rules.READ_ON_BYTES) this.#upstream.done();
    return true;
  }

  /** The client disconnected: charges what the provider reported, or an estimate of what was sent. */
  onClientGone(): void {
    if (this.#isSettled) return;
    // The server stops, and the client got an error instead of this response.
    if (this.#isUnsent && this.#context.call.isInterrupted) return this.bookFailed('interrupted');
    const result = this.#tap.end();
    if (result.isError) return;
    const { images } = this.#context.request;
    // The provider makes the pictures although the client does not read them.
    const isDrawing = images !== undefined && result.usage === undefined;
    this.#settle(isDrawing ? { ...result, images: requestedCount(images) } : result, result.isComplete);
  }

  /** The caller pays nothing for what the provider reported or made before it failed; its cost is the operator's. */
  bookFailed(fault: AttemptFailure): void {
    const { admission, canFailOver } = this.#context;
    if (!admission || this.#isSettled) return;
    if (this.#opening && canFailOver) this.#tap.push(this.#opening.bytes);
    const found = this.#tap.end();
    const result = { ...found, usage: found.usage ?? this.#tap.reportOfCut };
    const isMade = this.#tap.outputTokens > 0 || (result.images?.count ?? 0) > 0;
    if (!isMade && !hasTokens(result.usage)) return;
    const { images, model: replyModel } = result;
    admission.bookFailed(this.#usageOf(result, false), { account: this.#head.account, fault, images, replyModel });
  }

  #settle(result: TapResult, isFinished: boolean): void {
    this.#isSettled = true;
    const { call, admission, background, operation, request } = this.#context;
    const { account } = this.#head;
    const usage = this.#usageOf(result, isFinished);
    call.addLogFields(usageLogFields(usage));
    const { images, model: replyModel, object } = result;
    const record: MadeObject['record'] = async (tx) => object && request.keeps?.record(tx, object, account.id);
    if (object) background?.keep({ operation, usage, record }, account.id);
    admission?.settle(usage, { account, images, reported: result.usage, replyModel });
  }

  #usageOf({ usage, images: made, object }: TapResult, isFinished: boolean): HubUsage {
    const { operation, request } = this.#context;
    const { inputTokens, images, searches, keeps } = request;
    if (keeps) return keeps.usageOf(object);
    if (searches !== undefined) return { ...(usage ?? NO_USAGE), searches };
    if (images && made && !usage) return estimateImageUsage(images, made);
    const output = (): number => (rules.inferenceRow(operation).vectors ? 0 : this.#tap.outputTokens);
    return chargedUsage(usage, { input: inputTokens, output }, isFinished);
  }

  #finish({ id, ownedIds, usage, isError, isComplete }: TapResult): void {
    const { operation, caller, call, services } = this.#context;
    const { userId, store: isStoring } = caller.key;
    const accountId = this.#head.account.id;
    // The next turn names the container of a messages reply, whatever the key stores.
    const isStored = operation === 'messages.create' ? ownedIds.length > 0 : STORING.has(operation) && isStoring;
    if (isStored && id !== undefined && !isError)
      services.store.save({ id, userId, accountId, itemIds: ownedIds, tokens: usage && usage.input + usage.output });
    if (operation === 'responses.delete' || operation === 'interactions.delete')
      void services.store.drop(call.params.response_id ?? '', userId);
    const forgotten = this.#context.request.forget?.();
    if (!call.isClientGone) this.#whenCharged(() => this.#end({ isError, isComplete }), forgotten);
  }

  #whenCharged(task: () => void, forgotten?: Promise<void>): void {
    const { call, admission, background } = this.#context;
    const written = background ? background.recorded : (forgotten ?? admission?.flushed());
    if (written) call.runAfter(written, task);
    else task();
  }

  #end({ isError, isComplete }: Pick<TapResult, 'isError' | 'isComplete'>): void {
    if (!this.#held) {
      if (!this.#isSse) return this.#stream?.end(this.#lastChunk);
      return this.#stream?.end(isComplete ? this.#lastEvents() : this.#withDone());
    }
    const body = concatBuffers(this.#held);
    if (!isError) return this.#writeHead().end(body);
    const shown = redactBytes(body, this.#secrets);
    this.#writeHead({ 'content-length': String(shown.length) }).end(shown);
  }

  /**
   * What the filter still holds, and the blank line after the last event that the provider omitted and clients need.
   */
  #lastEvents(): Buffer {
    const rest = this.#heldBack();
    return NEEDS_BLANK_LINE.has(this.#context.dialect) ? this.#closed(rest) : rest;
  }

  /**
   * The terminal event of a chat stream that is finished without it
   * (`TOLERANCES.noTerminalEvent`): no stream ends without one.
   */
  #withDone(): Buffer {
    return Buffer.concat([this.#closed(this.#heldBack()), DONE]);
  }

  #closed(rest: Buffer): Buffer {
    const isAtBoundary = rest.length === 0 ? this.#stream?.isAtBoundary === true : lastBlockEnd(rest) === rest.length;
    return isAtBoundary ? rest : Buffer.concat([rest, BLANK_LINE]);
  }

  #heldBack(): Buffer {
    const pieces = [this.#holdBackLastChunk(EMPTY), this.#filter?.end() ?? EMPTY];
    return concatBuffers(pieces.filter(({ length }) => length > 0));
  }

  /** The server stops. A settled stream waits only for its charge, and ends by itself. */
  #endInterrupted(): void {
    if (this.#isSettled) return;
    const result = this.#tap.end();
    if (result.isComplete) this.#stream?.end(this.#heldBack());
    else this.#endWithError(result, 'shutdown');
  }

  #endWithError({ id, sequence }: TapResult, end: StreamEnd): void {
    const { call, dialect } = this.#context;
    const unfinished = { requestId: call.id, id, sequence, end };
    const event = this.#context.request.images ? imageStreamError(unfinished) : streamErrorEvent[dialect](unfinished);
    const rest = this.#heldBack().toString('utf8');
    const isAtBoundary = rest === '' && this.#stream?.isAtBoundary === true;
    this.#stream?.end(rest + (isAtBoundary ? '' : '\n\n') + event);
  }

  #writeHead(changed: Readonly<Record<string, string>> = {}): ClientStream {
    const { call, dialect, services, request, early } = this.#context;
    const opened = early?.take(() => this.#upstream.resume());
    if (opened) {
      this.#stream = opened;
      return opened;
    }
    const { status, headers: sent } = this.#head;
    const safe = isFile(this.#context) ? rules.FOREIGN_FILE_HEADERS : {};
    const headers = { ...responseHeaders(call, sent), ...droppedHeaders(request.dropped ?? []), ...safe, ...changed };
    call.response.writeHead(status, this.#isSse ? asStream(headers) : headers);
    const heartbeat = this.#isSse ? () => heartbeatFor(dialect) : undefined;
    this.#stream = services.clientStreams.open(call, { heartbeat, onDrain: () => this.#upstream.resume() });
    return this.#stream;
  }
}

const isFile = ({ operation }: NativeResponseContext): boolean => rules.inferenceRow(operation).isFile === true;

/** Its framing tells whether a file is whole. */
const FILE_TAP: Tap = {
  push: () => {},
  end: () => ({ ...NOTHING, isComplete: true }),
  outputTokens: 0,
  isFinishing: false,
};

function tapFor(context: NativeResponseContext, isSse: boolean): Tap {
  const { call, dialect, request } = context;
  const { images, repliesAs = dialect, keeps } = request;
  if (isFile(context)) return FILE_TAP;
  if (images) return new ImageTap(images, isSse);
  if (keeps) return new ObjectTap();
  return isSse ? new StreamTap(repliesAs, timesOf(call)) : new UnaryTap(repliesAs);
}

/** Heartbeats may make a stream longer than the provider's. */
const asStream = ({ 'content-length': _, ...headers }: Record<string, string>): Record<string, string> => ({
  'content-type': EVENT_STREAM,
  ...headers,
  ...UNBUFFERED,
});
