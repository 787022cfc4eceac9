/**
 * The response of one round that arrives as one JSON body: read in full and decoded before the client gets anything.
 */
import type { Account } from '../../catalog/index.ts';
import * as core from '../../core/index.ts';
import { type Fault, type HubReply, type HubUsage, readReply, unfold } from '../../dialects/index.ts';
import type { TransportError } from '../../providers/upstream/index.ts';
import { type FaultKind, faultRow, JSON_LIMITS, REPLY_LIMITS } from '../../rules/index.ts';
import { hasTokens, reportIn } from '../billing/failed-usage.ts';
import { isStillborn, stillborn } from '../billing/reply-opening.ts';
import { cutText, wholeText } from '../billing/visible-text.ts';
import type { ResponseHead, UpstreamControl } from '../upstream-call.ts';
import { conversionHeaders, omittedFromReply } from './headers.ts';
import { replyWithOwnIds } from './own-ids.ts';
import { faultFromReply, faultOfReply, oversized, sizeOfItems, TOO_MANY_ITEMS, TOO_MUCH_TEXT } from './reply-error.ts';
import { exceedsText } from './reply-text.ts';
import type { RoundHost, RoundResponse, RoundState } from './round.ts';
import type { RoundRequest } from './round-request.ts';

/** Replies with images reach some 20 MiB. */
const MAX_BYTES = 64 * 2 ** 20;

export class UnaryResponse implements RoundResponse {
  readonly account: Account;
  model: string | undefined;
  state: RoundState = 'open';
  readonly #host: RoundHost;
  readonly #request: RoundRequest;
  readonly #upstream: UpstreamControl;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #reported: HubUsage | undefined;

  constructor(host: RoundHost, request: RoundRequest, head: ResponseHead, upstream: UpstreamControl) {
    this.account = head.account;
    this.#host = host;
    this.#request = request;
    this.#upstream = upstream;
  }

  /** Never paused: nothing is written while the body is read. */
  resume(): void {}

  /** Nothing of this round has reached the client, but the provider made what has arrived. */
  estimate(): HubUsage | undefined {
    // The server stops, and the client gets an error instead of the reply.
    if (this.#host.context.call.isInterrupted) return undefined;
    const output = (): number => core.estimateTokens(cutText(core.concatBuffers(this.#chunks).toString('utf8')));
    return this.#host.usageOf({ reported: undefined, items: [], output, isFinished: false });
  }

  get failedUsage(): HubUsage | undefined {
    const { upstream } = this.#host.context.pair;
    const text = core.concatBuffers(this.#chunks).toString('utf8');
    const body = core.valueOfJson(text);
    const output = core.estimateTokens(body === undefined ? cutText(text) : wholeText(upstream.dialect, body));
    const reported = this.#reported ?? reportIn(upstream, text);
    if (output === 0 && !hasTokens(reported)) return undefined;
    return this.#host.usageOf({ reported, items: [], output: () => output, isFinished: false });
  }

  onData(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes <= MAX_BYTES) return this.#chunks.push(chunk) > 0;
    this.#chunks.length = 0;
    this.state = 'failed';
    this.#upstream.reject(TOO_LARGE);
    return false;
  }

  onEnd(error?: TransportError): FaultKind | Fault | undefined {
    const fault = this.#read(error);
    if (fault) this.state = 'failed';
    return fault;
  }

  /** A fault here leaves the client without a response head, so another account may be tried. */
  #read(error?: TransportError): Fault | undefined {
    if (error) return truncated(error.kind);
    try {
      const bytes = core.concatBuffers(this.#chunks);
      if (bytes.length > REPLY_LIMITS.textBytes && exceedsText(bytes, REPLY_LIMITS.textBytes)) return TOO_MUCH_TEXT;
      if (bytes.length > REPLY_LIMITS.countedBytes) core.scanMembers(bytes, core.NO_MEMBERS, REPLY_JSON_LIMITS);
      const body = core.parseJson(bytes.toString('utf8'));
      const { dialect } = this.#host.context.pair.upstream;
      return this.#onReply(this.#decode(body), () => core.estimateTokens(wholeText(dialect, body)));
    } catch (thrown) {
      if (thrown instanceof core.JsonLimitError)
        return oversized(`The provider's response cannot be converted: ${thrown.message}`);
      if (thrown instanceof SyntaxError || thrown instanceof core.JsonScanError) return truncated('failed');
      if (!(thrown instanceof core.ApiError)) throw thrown;
      return faultFromReply({ code: thrown.code, message: thrown.message }, this.#host.context, this.account);
    }
  }

  #decode(body: unknown): HubReply {
    const { encoded } = this.#request.encodedFor(this.account);
    const { upstream } = this.#host.context.pair;
    const { context, rounds } = this.#host;
    const reply = readReply(upstream, encoded, body, this.#request.decodeContextFor(this.account));
    return replyWithOwnIds(reply, { requestId: context.call.id, round: rounds.completed });
  }

  #onReply(reply: HubReply, output: () => number): Fault | undefined {
    const { rounds, context } = this.#host;
    this.model = reply.model;
    this.#reported = reply.usage;
    if (sizeOfItems(reply.items) > REPLY_LIMITS.items) return TOO_MANY_ITEMS;
    if (!this.#host.client.hasBegun && isStillborn(reply)) return stillborn('truncated');
    if (rounds.continueAfter({ ...reply, account: this.account }) || rounds.repeatAfter(reply.stop)) {
      this.state = 'paused';
      return undefined;
    }
    // The client reads the usage that is charged.
    const { items: own, usage: reported } = reply;
    const last = { ...reply, usage: this.#host.usageOf({ reported, items: own, output, isFinished: true }) };
    const whole = rounds.merge(last);
    const fault = faultOfReply(whole, context, this.account);
    if (fault) return fault;
    const { omittedTools } = this.#request.encodedFor(this.account).encoded;
    const response = context.pair.client.encodeReply(whole, { ...context.replyContext, omittedTools });
    this.state = 'complete';
    const { items, usage } = whole;
    const charged = this.#host.complete({ items, usage, account: this.account, response });
    const send = this.#request.hub.stream
      ? () => this.#sendStream(last, whole)
      : () => this.#sendJson(JSON.stringify(response), omittedFromReply(context, whole));
    context.call.runAfter(charged, send);
    return undefined;
  }

  #sendJson(text: string, omitted: readonly string[]): void {
    const { context } = this.#host;
    context.call.response.writeHead(200, {
      ...conversionHeaders(context, this.#request.encodedFor(this.account), omitted),
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    });
    context.services.clientStreams.send(context.call, text);
  }

  /** An earlier round may have begun the stream; then this round continues it. */
  #sendStream(reply: HubReply, whole: HubReply): void {
    const { client, rounds, context } = this.#host;
    if (!client.isStarted)
      return context.call.runAfter(client.sendWhole(unfold(whole), this.#request.encodedFor(this.account)), () => {});
    for (const event of unfold(reply)) {
      const renumbered = rounds.renumber(event);
      if (renumbered) client.push(renumbered);
    }
    client.end();
  }
}

const TOO_LARGE = oversized(`The provider's response is larger than ${MAX_BYTES / 2 ** 20} MiB.`);

const REPLY_JSON_LIMITS = { depth: JSON_LIMITS.depth, tokens: REPLY_LIMITS.values } as const;

const truncated = (kind: FaultKind): Fault => ({
  kind,
  error: { code: faultRow(kind).code, message: 'The provider closed the connection in the middle of its response.' },
});
