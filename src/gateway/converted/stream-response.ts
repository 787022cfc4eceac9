/**
 * The streamed response of one round, in the turn in which bytes arrive.
 * Its head waits for the first event, so that an early failure keeps its status.
 */
import type { Account } from '../../catalog/index.ts';
import { readSse, type SseReader, valueOfJson } from '../../core/index.ts';
import * as dialects from '../../dialects/index.ts';
import type { TransportError } from '../../providers/upstream/index.ts';
import * as rules from '../../rules/index.ts';
import { hasTokens, reportIn } from '../billing/failed-usage.ts';
import { OutputMeter, timesOf } from '../billing/output-meter.ts';
import { ReplyOpening, stillborn } from '../billing/reply-opening.ts';
import { replyPhase } from '../billing/reply-phase.ts';
import type { ResponseHead, UpstreamControl } from '../upstream-call.ts';
import { withOwnIds } from './own-ids.ts';
import { faultFromReply, faultOfReply, sizeOfItem, TOO_MANY_ITEMS } from './reply-error.ts';
import type { RoundHost, RoundResponse, RoundState } from './round.ts';
import type { RoundRequest } from './round-request.ts';

/** Silence before the first event after which the client gets the response head and a heartbeat. */
const HEAD_WAIT_MS = 10_000;
/** Time for the upstream to close after its last event, or to report usage after an emulated stop sequence. */
const CLOSE_WAIT_MS = 2_000;

/** Of an event that says nothing about the reply. */
const PING_CHARS = '{"type": "ping"}'.length;

/** Streams of these dialects may lack the blank line after the last event; elsewhere a missing one means truncation. */
const KEEPS_TAIL: ReadonlySet<rules.UpstreamDialect> = new Set<rules.UpstreamDialect>(['generate', 'chat']);

export class StreamResponse implements RoundResponse {
  readonly account: Account;
  model: string | undefined;
  state: RoundState = 'open';
  readonly #host: RoundHost;
  readonly #request: RoundRequest;
  readonly #upstream: UpstreamControl;
  #decoding: dialects.StreamDecoding;
  readonly #reader: SseReader;
  readonly #opening: ReplyOpening;
  #items: dialects.HubItem[] = [];
  #fault: dialects.Fault | undefined;
  /** What the end of the reply reports, before it turns out to be a failure. */
  #finalUsage: dialects.HubUsage | undefined;
  #meter: OutputMeter;
  #lastData = '';
  #earlierData = '';
  /** Bytes of content since the client is gone. */
  #unread = 0;
  #isWaitingForUsage = false;
  #charged: Promise<void> = Promise.resolve();
  /** Of the one timer: for the first event, later for usage or for the upstream to close. */
  #cancelTimer: () => void;
  #size = 0;

  constructor(host: RoundHost, request: RoundRequest, head: ResponseHead, upstream: UpstreamControl) {
    const { call, pair, services } = host.context;
    this.account = head.account;
    this.#host = host;
    this.#request = request;
    this.#upstream = upstream;
    this.#opening = new ReplyOpening(host.client.hasBegun);
    const { encoded } = request.encodedFor(head.account);
    this.#meter = new OutputMeter(pair.upstream.dialect, timesOf(call));
    this.#decoding = dialects.openDecoding(pair.upstream, encoded, request.decodeContextFor(head.account));
    this.#reader = readSse((data, event) => {
      if (data.length > PING_CHARS) {
        this.#earlierData = this.#lastData;
        this.#lastData = data;
        this.#meter.push(data);
      }
      this.#onHubEvents(this.#decoding.decode(data, event));
    });
    this.#cancelTimer = services.clock.after(HEAD_WAIT_MS, () => {
      this.#start();
      host.client.heartbeat();
    });
    call.onClientGone(() => this.#cancelTimer());
    call.addLogFields({ account: head.account.id });
  }

  resume(): void {
    this.#upstream.resume();
  }

  get reported(): dialects.HubUsage | undefined {
    return this.#decoding.usage;
  }

  /**
   * What the provider reported so far counts. Input comes early,
   * and a reported output of an unfinished reply is a lower bound.
   */
  estimate(): dialects.HubUsage {
    return this.#usageOf(this.#decoding.usage, false);
  }

  get failedUsage(): dialects.HubUsage | undefined {
    const { upstream } = this.#host.context.pair;
    const inEvents = (): dialects.HubUsage | undefined =>
      reportIn(upstream, this.#lastData) ?? reportIn(upstream, this.#earlierData);
    const reported = this.#finalUsage ?? this.#decoding.usage ?? inEvents();
    const isUsed = hasTokens(reported) || this.#meter.tokensWith() > 0;
    return isUsed ? this.#usageOf(reported, false) : undefined;
  }

  #usageOf(reported: dialects.HubUsage | undefined, isFinished: boolean): dialects.HubUsage {
    const output = (): number => this.#meter.tokensWith();
    return this.#host.usageOf({ reported, items: this.#items, output, isFinished });
  }

  get readsOn(): boolean {
    if (this.#isOver) return false;
    const { isCut, usage } = this.#decoding;
    const isReported = usage !== undefined && !usage.estimated;
    return isCut || this.#isFinishing || (!isReported && this.#meter.tokensWith() > 0);
  }

  get isSilent(): boolean {
    return this.#opening.isSilent;
  }

  get #isFinishing(): boolean {
    const { dialect } = this.#host.context.pair.upstream;
    const phases = [this.#lastData, this.#earlierData].map((data) => replyPhase(dialect, valueOfJson(data)));
    return phases.find((phase) => phase !== undefined) === 'finished';
  }

  onData(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    try {
      this.#reader.feed(chunk);
    } catch {
      // The reader throws when an event exceeds its size limit.
      this.#fail({ code: 'upstream_error', message: 'The provider sent an event that is too long.' });
    }
    return this.#host.context.call.isClientGone ? this.#readOn(chunk) : this.#flush();
  }

  /** The client is gone: only the usage report matters, and much content that follows ends the wait for it. */
  #readOn({ length }: Buffer): boolean {
    if (!this.#decoding.isCut && !this.#isFinishing) this.#unread += length;
    if (this.#isOver || this.#fault || this.#unread > rules.READ_ON_BYTES) this.#upstream.done(this.#fault?.kind);
    return true;
  }

  onEnd(error?: TransportError): rules.FaultKind | dialects.Fault | undefined {
    this.#cancelTimer();
    if (this.#isOver) return this.#fault?.kind;
    this.#reader.end({ keepTail: error === undefined && KEEPS_TAIL.has(this.#host.context.pair.upstream.dialect) });
    const isUnfinished = !this.#isOver;
    // After all content has arrived, only usage is missing.
    const isTruncated = error !== undefined && !this.#decoding.isComplete;
    if (isUnfinished) this.#onHubEvents(isTruncated ? [truncatedBy(error)] : this.#decoding.end());
    if (this.#faultBeforeReply) return this.#faultBeforeReply;
    if (isUnfinished && this.#fault?.kind === 'failed') this.#fault = { ...this.#fault, kind: 'truncated' };
    this.#flush();
    this.#cancelTimer();
    return error?.kind ?? this.#fault?.kind;
  }

  get #isOver(): boolean {
    return this.state !== 'open';
  }

  #onHubEvents(events: readonly dialects.HubEvent[]): void {
    const { context, rounds } = this.#host;
    const place = { requestId: context.call.id, round: rounds.completed };
    for (const given of events) {
      if (this.#isOver) return;
      if (given.kind === 'error') return this.#fail(given.error);
      const event = withOwnIds(given, place);
      if (event.kind === 'start') this.model = event.model;
      if (event.kind === 'item_end') {
        this.#items.push(event.item);
        this.#size += sizeOfItem(event.item) - 1;
      }
      if (event.kind === 'item') this.#size += 1;
      if (this.#size > rules.REPLY_LIMITS.items) return this.#failWith(TOO_MANY_ITEMS);
      const ready = this.#opening.push(event);
      if (event.kind === 'finish') {
        this.#finalUsage = event.usage;
        if (!this.#opening.hasBegun) return this.#failWith(stillborn('truncated'));
        if (this.#isContinued(event)) {
          for (const one of ready) if (one.kind !== 'finish') this.#emit(one);
          this.state = 'paused';
          return;
        }
        const fault = this.#faultAtEnd(event);
        if (fault) return this.#failWith(fault);
      }
      for (const one of ready) this.#emit(one);
    }
    if (this.#isOver) return;
    if (this.#isWaitingForUsage) {
      if (events.length === 0 || this.#decoding.isCut) return;
      // More content after its end: the wait begins anew.
      this.#cancelTimer();
    }
    if (this.#decoding.isCut) this.#waitForUsage(CLOSE_WAIT_MS, () => this.#decoding.finishCut());
    else if (this.#decoding.isComplete) this.#waitForUsage(rules.USAGE_GRACE_MS, () => this.#decoding.end());
  }

  #emit(event: dialects.HubEvent): void {
    const { client, rounds } = this.#host;
    if (!client.isStarted) this.#start();
    // The client reads the usage that is charged.
    const charged = event.kind === 'finish' ? { ...event, usage: this.#usageOf(event.usage, true) } : event;
    const renumbered = rounds.renumber(charged);
    if (!renumbered) return;
    client.push(renumbered);
    if (renumbered.kind === 'finish') this.#complete(renumbered.usage);
  }

  /** True when another round follows; the client notices nothing of it. */
  #isContinued(finish: Extract<dialects.HubEvent, { kind: 'finish' }>): boolean {
    const { rounds } = this.#host;
    if (rounds.continueAfter({ ...finish, items: this.#items, account: this.account })) return true;
    return this.#size === 0 && rounds.repeatAfter(finish.stop);
  }

  #complete(usage: dialects.HubUsage): void {
    const { rounds, client } = this.#host;
    this.state = 'complete';
    const items = [...rounds.items, ...this.#items];
    this.#charged = this.#host.complete({ items, usage, account: this.account, response: client.finalResponse });
    this.#forget();
  }

  /** The response waits for the charge, and the garbage collector would copy all that it holds meanwhile. */
  #forget(): void {
    const { dialect } = this.#host.context.pair.upstream;
    this.#decoding = OVER;
    this.#meter = new OutputMeter(dialect);
    this.#items = [];
    this.#lastData = '';
    this.#earlierData = '';
  }

  #faultAtEnd(finish: Omit<dialects.CompleteReply, 'items'>): dialects.Fault | undefined {
    const { rounds, context } = this.#host;
    return faultOfReply({ ...finish, items: [...rounds.items, ...this.#items] }, context, this.account);
  }

  #fail(error: dialects.HubError): void {
    this.#failWith(faultFromReply(error, this.#host.context, this.account));
  }

  #failWith(fault: dialects.Fault): void {
    this.#fault = fault;
    // After an emulated stop sequence the client has all its text; only the usage report failed.
    if (this.#decoding.isCut) return this.#onHubEvents(this.#decoding.finishCut());
    // A client that has left pays for what it could read: it did not leave because of this.
    if (this.#host.context.call.isClientGone) return;
    this.state = 'failed';
    if (this.#host.client.hasBegun) this.#host.client.push({ kind: 'error', error: fault.error });
  }

  /** A failure before the reply begins: another account may be tried, and without a head for the client it keeps its status. */
  get #faultBeforeReply(): dialects.Fault | undefined {
    return this.#host.client.hasBegun ? undefined : this.#fault;
  }

  #start(): void {
    this.#cancelTimer();
    if (!this.#host.client.isStarted) this.#host.client.start(this.#request.encodedFor(this.account));
  }

  /** Writes what this read brought; ends the response when the reply is complete. */
  #flush(): boolean {
    if (this.#faultBeforeReply) {
      this.#cancelTimer();
      this.#upstream.reject(this.#faultBeforeReply);
      return true;
    }
    if (!this.#isOver) return this.#host.client.flush();
    this.#cancelTimer();
    if (this.state === 'paused') {
      this.#host.client.flush();
      this.#upstream.done();
      return true;
    }
    const { call, services } = this.#host.context;
    call.runAfter(this.#charged, () => this.#host.client.end());
    // The upstream closes right after its last event; one that does not must not hold its account's slot.
    this.#cancelTimer = services.clock.after(CLOSE_WAIT_MS, () => this.#upstream.done(this.#fault?.kind));
    return true;
  }

  /** The client has all its content; the upstream gets a moment to report usage. */
  #waitForUsage(ms: number, finish: () => readonly dialects.HubEvent[]): void {
    this.#isWaitingForUsage = true;
    const { clock } = this.#host.context.services;
    const end = (): void => {
      this.#onHubEvents(finish());
      this.#flush();
      this.#cancelTimer();
      this.#upstream.done();
    };
    this.#cancelTimer = clock.after(ms, () => {
      // A process that was busy for all this time first reads what has arrived meanwhile.
      this.#cancelTimer = clock.after(0, end);
    });
  }
}

const OVER: dialects.StreamDecoding = {
  decode: () => [],
  end: () => [],
  isComplete: false,
  usage: undefined,
  isCut: false,
  finishCut: () => [],
};

const truncatedBy = ({ kind }: TransportError): dialects.HubEvent => ({
  kind: 'error',
  error: { code: rules.faultRow(kind).code, message: 'The upstream closed the stream before completion.' },
});
