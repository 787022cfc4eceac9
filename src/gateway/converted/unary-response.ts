/** A converted answer that comes as one body: read whole, decoded, and only then is anything said to the client. */
import { ApiError, concatBuffers } from '../../core/index.ts';
import { type Fault, type HubUsage, readReply, unfold } from '../../dialects/index.ts';
import { type FaultKind, faultRow } from '../../rules/index.ts';
import type { TransportError } from '../../upstream/index.ts';
import { estimateItems, estimateUsage, isUsageMissing } from '../billing/estimate.ts';
import type { ResponseHandler, ResponseHead } from '../failover.ts';
import { usageLogFields } from '../native/response.ts';
import { conversionHeaders, type RoundContext } from './convert-call.ts';
import { faultFromReply } from './reply-error.ts';
import { STREAM_HEADERS } from './stream-response.ts';

/** No honest answer is larger (images in it reach some 20 MiB). */
const MAX_BYTES = 64 * 2 ** 20;

export class UnaryResponse implements ResponseHandler {
  readonly #conversation: RoundContext;
  readonly #head: ResponseHead;
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(conversation: RoundContext, head: ResponseHead) {
    this.#conversation = conversation;
    this.#head = head;
  }

  onData(chunk: Buffer): boolean {
    this.#size += chunk.length;
    if (this.#size <= MAX_BYTES) this.#chunks.push(chunk);
    return true;
  }

  onEnd(trouble?: TransportError): FaultKind | Fault | undefined {
    if (trouble) return brokenFault(trouble.kind);
    if (this.#size > MAX_BYTES) return brokenFault('failed');
    try {
      this.#answer(JSON.parse(concatBuffers(this.#chunks).toString('utf8')));
      return undefined;
    } catch (error) {
      // Not JSON, or no answer of its dialect: nothing was told yet, another account may do better.
      if (error instanceof SyntaxError) return brokenFault('failed');
      if (error instanceof ApiError) {
        return faultFromReply({ code: error.code, message: error.message }, this.#conversation, this.#head.account);
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
    if (telling.continuesAfter(round.stop))
      return telling.pause(round.items, round.usage, (used) => void this.#charge(used));
    const reply = telling.merged(round);
    this.#conversation.cacheOpaque(reply.items);
    const whole = pair.client.client.encodeReply(reply, answer);
    if (this.#conversation.isStored) this.#conversation.storeResponse(whole);
    const headers = conversionHeaders(this.#conversation, prepared);
    const usage = isUsageMissing(reply.usage) ? estimateUsage(request, estimateItems(reply.items)) : reply.usage;
    const told = request.stream ? unfold(reply).map((event) => telling.encoder.push(event)) : [JSON.stringify(whole)];
    const text = told.join('');
    call.runAfter(this.#charge(usage), () => {
      const form = request.stream ? STREAM_HEADERS : { ...JSON_HEADERS, 'content-length': Buffer.byteLength(text) };
      call.response.writeHead(200, { ...headers, ...form });
      parts.outlets.send(call, text);
    });
  }

  #charge(usage: HubUsage): Promise<void> {
    const { call, settle } = this.#conversation;
    call.addLogFields({ account: this.#head.account.id, ...usageLogFields(usage) });
    return settle(usage, this.#head.account);
  }
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' } as const;

const brokenFault = (kind: FaultKind): Fault => ({
  kind,
  error: { code: faultRow(kind).code, message: 'The provider broke off in the middle of its answer.' },
});
