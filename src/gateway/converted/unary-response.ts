/** A converted answer that comes as one body: read whole, decoded, and only then is anything said to the client. */
import { ApiError, inOne } from '../../core/index.ts';
import { type Fault, type HubUsage, readReply, unfold } from '../../dialects/index.ts';
import { type FaultKind, faultRow } from '../../rules/index.ts';
import type { Trouble } from '../../upstream/index.ts';
import { estimateItems, estimateUsage, isUnsaid } from '../billing/estimate.ts';
import type { Head, Taker } from '../failover.ts';
import { usageNote } from '../native/response.ts';
import { type Conversation, conversionHeaders } from './convert-call.ts';
import { toldFault } from './reply-error.ts';
import { STREAM_HEADERS } from './stream-response.ts';

/** No honest answer is larger (images in it reach some 20 MiB). */
const MAX_BYTES = 64 * 2 ** 20;

export class Whole implements Taker {
  readonly #conversation: Conversation;
  readonly #head: Head;
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(conversation: Conversation, head: Head) {
    this.#conversation = conversation;
    this.#head = head;
  }

  onData(chunk: Buffer): boolean {
    this.#size += chunk.length;
    if (this.#size <= MAX_BYTES) this.#chunks.push(chunk);
    return true;
  }

  onEnd(trouble?: Trouble): FaultKind | Fault | undefined {
    if (trouble) return brokenFault(trouble.kind);
    if (this.#size > MAX_BYTES) return brokenFault('broken');
    try {
      this.#answer(JSON.parse(inOne(this.#chunks).toString('utf8')));
      return undefined;
    } catch (error) {
      // Not JSON, or no answer of its dialect: nothing was told yet, another account may do better.
      if (error instanceof SyntaxError) return brokenFault('broken');
      if (error instanceof ApiError) {
        return toldFault({ code: error.code, message: error.message }, this.#conversation, this.#head.account);
      }
      throw error;
    }
  }

  #answer(body: unknown): void {
    const { call, pair, request, answer, parts } = this.#conversation;
    const prepared = this.#conversation.preparedFor(this.#head.account);
    const context = this.#conversation.upstreamContext(this.#head.account);
    const { telling } = this.#conversation;
    const round = readReply(pair, prepared.encoded, body, context);
    if (telling.goesOn(round.stop)) return telling.pause(round.items, round.usage, (used) => void this.#charge(used));
    const reply = telling.whole(round);
    this.#conversation.remember(reply.items);
    const whole = pair.client.client.encodeReply(reply, answer);
    if (this.#conversation.isKept) this.#conversation.keep(whole);
    const headers = conversionHeaders(this.#conversation, prepared);
    const usage = isUnsaid(reply.usage) ? estimateUsage(request, estimateItems(reply.items)) : reply.usage;
    const told = request.stream ? unfold(reply).map((event) => telling.encoder.push(event)) : [JSON.stringify(whole)];
    const text = told.join('');
    call.goOn(this.#charge(usage), () => {
      const form = request.stream ? STREAM_HEADERS : { ...JSON_HEADERS, 'content-length': Buffer.byteLength(text) };
      call.response.writeHead(200, { ...headers, ...form });
      parts.outlets.send(call, text);
    });
  }

  #charge(usage: HubUsage): Promise<void> {
    const { call, settle } = this.#conversation;
    call.note({ account: this.#head.account.id, ...usageNote(usage) });
    return settle(usage, this.#head.account);
  }
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' } as const;

const brokenFault = (kind: FaultKind): Fault => ({
  kind,
  error: { code: faultRow(kind).code, message: 'The provider broke off in the middle of its answer.' },
});
