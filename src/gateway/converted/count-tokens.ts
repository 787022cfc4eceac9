/**
 * Token counts (G 4.3, G 4.6.3), by the provider or estimated; never charged.
 * A converted count takes no account slot, and gives up rather than wait.
 */
import { capabilitiesFor, type Model } from '../../catalog/index.ts';
import { ApiError, bufferOf } from '../../core/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { fetchJson } from '../../providers/upstream/index.ts';
import { type CountedDialect, type Dialect, type InferenceOperation, TIMEOUTS } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { type FileServices, readRequestBody } from '../files/request-body.ts';
import { resolveModel, upstreamName } from '../models/resolve.ts';
import { jobOwner } from '../services.ts';
import { encodedHeaders, upstreamRequest } from '../upstream-request.ts';
import type { ConvertedServices } from './context.ts';
import * as jobs from './count-job.ts';
import { inlineMedia } from './inline-media.ts';
import { decodeWhole, type HubRead } from './read-hub.ts';

/** Counts in flight on this replica. Beyond that the estimate is returned. */
const MAX_IN_FLIGHT = 16;

const RESPONSE: Readonly<Record<CountedDialect, (count: number) => object>> = {
  messages: (count) => ({ input_tokens: count }),
  responses: (count) => ({ object: 'response.input_tokens', input_tokens: count }),
  generate: (count) => ({ totalTokens: count }),
};

/** Where `from` and `to` are the same, the account cannot count and the gateway estimates. */
export interface Count {
  readonly operation: InferenceOperation;
  readonly from: CountedDialect;
  readonly to: Dialect;
}

export class TokenCounter {
  readonly #services: ConvertedServices & FileServices;
  #inFlight = 0;

  constructor(services: ConvertedServices & FileServices) {
    this.#services = services;
  }

  async countNative(call: Call, caller: Caller, count: Count, forward: () => Promise<void>): Promise<void> {
    const bytes = await readRequestBody(this.#services, { call, caller, operation: count.operation });
    call.body = bytes;
    const previousId = await this.#previousId(bytes, call, caller, count);
    if (await this.#isOwn(previousId, caller)) return this.count(call, caller, { ...count, to: count.from });
    try {
      await forward();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'endpoint_not_supported') throw error;
      // The provider holds the earlier turns, so that they cannot be estimated.
      if (previousId !== undefined) throw error;
      await this.count(call, caller, { ...count, to: count.from });
    }
  }

  /** Only the responses dialect refers to earlier turns. */
  async #previousId(bytes: Buffer, call: Call, caller: Caller, { operation, from }: Count): Promise<unknown> {
    if (from !== 'responses') return undefined;
    return this.#services.threads.run(jobs.previousIdJob, { bytes, operation }, jobOwner(call, caller, bytes.length));
  }

  /** The response is in our own store, so that no provider knows it. */
  async #isOwn(id: unknown, { key }: Caller): Promise<boolean> {
    return typeof id === 'string' && (await this.#services.store.find(id, key.userId))?.isHere === true;
  }

  async count(call: Call, caller: Caller, { operation, from, to }: Count): Promise<void> {
    const bytes = await readRequestBody(this.#services, { call, caller, operation }, 'converted');
    const head = { headers: call.request.headers, model: call.params.model ?? 'any', stream: false };
    const decoding = { operation, from, bytes, head, stores: false, findsUnknown: false, counts: true };
    const read = await decodeWhole(this.#services, call, caller, decoding);
    if ('held' in read) throw read.held.notFound;
    const model = resolveModel(this.#services.catalog(), caller, call.params.model ?? read.count?.model);
    const counted = from === to ? undefined : await this.#askProvider(call, caller, read, { model, to });
    call.addLogFields({ model: model.name, estimated: counted === undefined });
    sendJson(
      call,
      200,
      RESPONSE[from](counted ?? read.count?.estimate ?? 0),
      counted === undefined ? { 'x-gateway-token-count': 'estimated' } : { 'x-gateway-converted': `${from}->${to}` },
    );
  }

  /** Returns the provider's count; undefined when no account can count or the provider fails to. */
  async #askProvider(
    call: Call,
    caller: Caller,
    { request: sent, size }: HubRead,
    { model, to }: { readonly model: Model; readonly to: Dialect },
  ): Promise<number | undefined> {
    const { catalog, upstream, mediaFetcher, pool, threads, rejectedOptions } = this.#services;
    const { group } = caller;
    const account = catalog()
      .accounts(group.id)
      .find(({ id, features }) => features.has('count') && !pool.isParked(id));
    if (!account || this.#inFlight >= MAX_IN_FLIGHT) return undefined;
    this.#inFlight += 1;
    try {
      const request = capabilitiesFor(group.style, model).urlMedia
        ? sent
        : await inlineMedia(sent, mediaFetcher, () => call.reserveMemory());
      const name = upstreamName(model, account);
      const known = capabilitiesFor(group.style, { ...model, upstream: name }, { account, dialect: to });
      const capabilities = { ...known, ...rejectedOptions.lessonsFor(account, name).overrides };
      const encoding = { request, to, target: { model: name, capabilities } };
      const { headers, bytes } = await threads.run(jobs.encodeCountJob, encoding, jobOwner(call, caller, size));
      const counting = upstreamRequest(group.style, account, {
        method: 'POST',
        path:
          to === 'generate' ? `/v1beta/models/${encodeURIComponent(name)}:countTokens` : '/v1/messages/count_tokens',
        model: name,
        headers: encodedHeaders(headers),
        body: bufferOf(bytes),
        timeouts: TIMEOUTS.count,
      });
      const result = await fetchJson(upstream, counting);
      return result?.status === 200 ? countIn(result.body) : undefined;
    } finally {
      this.#inFlight -= 1;
    }
  }
}

function countIn(body: unknown): number | undefined {
  const { input_tokens: messages, totalTokens } = (body ?? {}) as { input_tokens?: unknown; totalTokens?: unknown };
  const count = messages ?? totalTokens;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}
