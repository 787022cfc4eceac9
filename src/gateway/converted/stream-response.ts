/**
 * A converted stream: bytes -> events -> hub -> events -> bytes, all in the turn in which the bytes arrived, one write per read.
 * The head is held until the first event says that there is an answer, so that an early failure keeps its status and may
 * still be tried elsewhere. Afterwards the client gets its dialect's end or its dialect's error, never bare EOF.
 */
import { readSse, type SseReader } from '../../core/index.ts';
import {
  type Fault,
  type HubError,
  type HubEvent,
  type HubItem,
  type HubUsage,
  openConversion,
  type StreamConversion,
} from '../../dialects/index.ts';
import { type FaultKind, faultRow, USAGE_GRACE_MS } from '../../rules/index.ts';
import type { TransportError } from '../../upstream/index.ts';
import { estimateUsage, isUsageMissing } from '../billing/estimate.ts';
import type { ResponseHandler, ResponseHead, UpstreamControl } from '../failover.ts';
import { usageLogFields } from '../native/response.ts';
import { conversionHeaders, type RoundContext } from './convert-call.ts';
import { faultFromReply } from './reply-error.ts';
import type { ReplyRounds } from './rounds.ts';

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** Silence before the first event after which the client is told that something is coming. */
const HEAD_WAIT_MS = 10_000;
/** How long a finished or cut stream may take to report its usage and close. */
const LINGER_MS = 2_000;

/** A stream of these dialects may lack the blank line after its last event; elsewhere that means it was cut. */
const KEEPS_TAIL: ReadonlySet<string> = new Set(['generate', 'chat']);

export class StreamResponse implements ResponseHandler {
  readonly #conversation: RoundContext;
  readonly #head: ResponseHead;
  readonly #source: UpstreamControl;
  readonly #conversion: StreamConversion;
  readonly #reader: SseReader;
  readonly #telling: ReplyRounds;
  #isOver = false;
  #isLingering = false;
  /** The failure that ended the stream. */
  #fault: Fault | undefined;
  /** Blocks of this turn. Joined once: adding each to a text would build a tree of them that has to be flattened. */
  readonly #out: string[] = [];
  #toldChars = 0;
  /** When the charge is on disk. */
  #settled: Promise<void> = Promise.resolve();
  readonly #items: HubItem[] = [];
  /** Of the rounds before this one. */
  readonly #chargeEarlier: () => void;
  /** Of the one timer: for the first event, later for the upstream to close. */
  #cancelTimer: () => void;

  constructor(conversation: RoundContext, head: ResponseHead, source: UpstreamControl) {
    const { call, pair, answer, parts } = conversation;
    this.#conversation = conversation;
    this.#head = head;
    this.#source = source;
    this.#telling = conversation.telling;
    this.#telling.resume = () => source.resume();
    this.#chargeEarlier = this.#telling.onAbandoned;
    this.#telling.onAbandoned = () => this.#cut();
    this.#conversion = openConversion(
      pair,
      conversation.preparedFor(head.account).encoded,
      conversation.upstreamContext(head.account),
      answer,
      conversation.telling.encoder,
    );
    this.#reader = readSse((data, event) => this.#take(this.#conversion.decode(data, event)));
    this.#cancelTimer = parts.clock.after(HEAD_WAIT_MS, () => {
      this.#begin();
      this.#write(this.#conversion.heartbeat());
    });
    call.onClientGone(() => this.#cancelTimer());
    call.addLogFields({ account: head.account.id });
  }

  onData(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    try {
      this.#reader.feed(chunk);
    } catch {
      this.#take([
        { kind: 'error', error: { code: 'upstream_error', message: 'The provider sent an event without end.' } },
      ]);
    }
    return this.#flush();
  }

  onEnd(trouble?: TransportError): FaultKind | Fault | undefined {
    this.#cancelTimer();
    if (this.#isOver) return this.#fault?.kind;
    this.#reader.end({ keepTail: trouble === undefined && KEEPS_TAIL.has(this.#conversation.pair.upstream.dialect) });
    if (!this.#isOver) this.#take(trouble ? [errorEvent(trouble)] : this.#conversion.end());
    if (this.#early) return this.#early;
    this.#flush();
    this.#cancelTimer();
    return trouble?.kind ?? this.#fault?.kind;
  }

  #take(events: readonly HubEvent[]): void {
    for (const event of events) {
      if (this.#isOver) return;
      if (event.kind === 'error') return this.#fail(event.error);
      if (event.kind !== 'ping' && !this.#telling.outlet) this.#begin();
      if (event.kind === 'text' || event.kind === 'think' || event.kind === 'args')
        this.#toldChars += event.text.length;
      if (event.kind === 'item_end') this.#items.push(event.item);
      if (event.kind === 'finish' && this.#telling.continuesAfter(event.stop)) return this.#pause(event.usage);
      this.#tell(event);
    }
    if (this.#isOver || this.#isLingering) return;
    if (this.#conversion.isCut) this.#linger(LINGER_MS, () => this.#conversion.finishCut());
    else if (this.#conversion.isComplete) this.#linger(USAGE_GRACE_MS, () => this.#conversion.end());
  }

  #tell(event: HubEvent): void {
    const placed = this.#telling.renumbered(event);
    if (!placed) return;
    const told = this.#conversion.encode(placed);
    if (told !== '') this.#out.push(told);
    if (placed.kind === 'finish') this.#complete(placed.usage, told);
  }

  /** The provider wants to be asked again; the client hears nothing of it. */
  #pause(usage: HubUsage): void {
    this.#isOver = true;
    this.#telling.pause(this.#items, usage, (used) => this.#charge(used));
  }

  /**
   * The client left: it pays for about what it got, since the upstream was cut before it could say. Of a round that failed nothing is
   * known, and the rounds before it are paid.
   */
  #cut(): void {
    if (this.#fault) this.#chargeEarlier();
    else if (!this.#isOver) this.#charge(this.#telling.usageWith(this.#guess()));
  }

  #charge(usage: HubUsage): void {
    this.#note(usage);
    void this.#conversation.settle(usage, this.#head.account);
  }

  #guess(): HubUsage {
    return estimateUsage(this.#conversation.request, Math.ceil(this.#toldChars / 4));
  }

  #complete(reported: HubUsage, told: string): void {
    this.#isOver = true;
    const usage = isUsageMissing(reported) ? this.#guess() : reported;
    this.#note(usage);
    this.#settled = this.#conversation.settle(usage, this.#head.account);
    this.#conversation.cacheOpaque([...this.#telling.items, ...this.#items]);
    if (this.#conversation.isStored) this.#conversation.storeResponse(finalResponse(told));
  }

  #fail(error: HubError): void {
    this.#fault = faultFromReply(error, this.#conversation, this.#head.account);
    // The client has all the text it gets; only the usage is missing.
    if (this.#conversion.isCut) return this.#take(this.#conversion.finishCut());
    this.#isOver = true;
    if (this.#telling.outlet) this.#out.push(this.#conversion.encode({ kind: 'error', error: this.#fault.error }));
  }

  /** Nothing was told yet: the failure keeps its status, and another account may be tried. */
  get #early(): Fault | undefined {
    return this.#telling.outlet ? undefined : this.#fault;
  }

  #begin(): void {
    this.#cancelTimer();
    const { call, parts } = this.#conversation;
    call.response.writeHead(200, {
      ...conversionHeaders(this.#conversation, this.#conversation.preparedFor(this.#head.account)),
      ...STREAM_HEADERS,
    });
    this.#telling.outlet = parts.outlets.open(call, {
      heartbeat: () => this.#conversion.heartbeat(),
      onDrain: () => this.#telling.resume(),
      onStalled: () => call.response.destroy(),
    });
  }

  /** Writes what this turn brought; ends the answer when it is complete. */
  #flush(): boolean {
    if (this.#early) {
      this.#cancelTimer();
      this.#source.reject(this.#early);
      return true;
    }
    const out = this.#out.join('');
    this.#out.length = 0;
    if (this.#isOver) return this.#finish(out);
    return out === '' || this.#write(out);
  }

  #write(out: string): boolean {
    return this.#telling.outlet?.write(out) ?? true;
  }

  #finish(out: string): boolean {
    if (this.#telling.isPaused) {
      if (out !== '') this.#write(out);
      this.#cancelTimer();
      this.#source.done();
      return true;
    }
    this.#conversation.call.runAfter(this.#settled, () => this.#telling.outlet?.end(out));
    // The upstream closes right after its last event; one that does not must not hold its place.
    this.#cancelTimer();
    this.#cancelTimer = this.#conversation.parts.clock.after(LINGER_MS, () => this.#source.done(this.#fault?.kind));
    return true;
  }

  /** The client has all the text it gets; the upstream has so long to report its usage. */
  #linger(ms: number, finish: () => readonly HubEvent[]): void {
    this.#isLingering = true;
    this.#cancelTimer = this.#conversation.parts.clock.after(ms, () => {
      this.#take(finish());
      this.#flush();
      this.#cancelTimer();
      this.#source.done();
    });
  }

  #note(usage: HubUsage): void {
    const { call } = this.#conversation;
    call.addLogFields({ ...usageLogFields(usage), ...(usage.estimated && { estimated: true }) });
  }
}

const errorEvent = ({ kind }: TransportError): HubEvent => ({
  kind: 'error',
  error: { code: faultRow(kind).code, message: 'The upstream closed the stream before completion.' },
});

/** The response object in the last event of a responses stream. */
function finalResponse(told: string): unknown {
  const at = told.lastIndexOf('data: ');
  return at < 0 ? undefined : (JSON.parse(told.slice(at + 6)) as { response?: unknown }).response;
}
