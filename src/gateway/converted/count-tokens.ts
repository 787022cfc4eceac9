/**
 * Token counts (G 4.3, G 4.6.3). The provider counts a native or converted request; when it cannot, the gateway returns an estimate,
 * marked as one. Counting is never charged. A converted count holds no account slot that a generation could use, and gives up early
 * rather than wait.
 */
import { type Account, capabilitiesFor, type Model } from '../../catalog/index.ts';
import { ApiError } from '../../core/index.ts';
import { codecOf, decodeCount, type HubRequest, openSummaries } from '../../dialects/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { fetchJson, type UpstreamRequest } from '../../providers/upstream/index.ts';
import { type CountedDialect, type Dialect, type InferenceOperation, type Style, TIMEOUTS } from '../../rules/index.ts';
import { estimateRequest } from '../billing/request-tokens.ts';
import type { Caller } from '../caller.ts';
import { resolveModel, upstreamName } from '../models/resolve.ts';
import type { RejectedOptions } from '../rejected-options/rejected-options.ts';
import { readJsonBody } from '../services.ts';
import { expandHistory } from '../stored/expand.ts';
import { encodedHeaders, upstreamRequest } from '../upstream-request.ts';
import type { ConvertedServices } from './context.ts';
import { inlineMedia } from './inline-media.ts';
import { parseBody } from './json-body.ts';
import { dropForged, signerFor } from './opaque-signer.ts';

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

interface CountedCall {
  readonly call: Call;
  readonly group: Caller['group'];
  readonly model: Model;
  readonly to: Dialect;
}

export class TokenCounter {
  readonly #services: ConvertedServices;
  #inFlight = 0;

  constructor(services: ConvertedServices) {
    this.#services = services;
  }

  /** Forwards a request in the group's own dialect; estimates when no account can count it. */
  async countNative(call: Call, caller: Caller, count: Count, forward: () => Promise<void>): Promise<void> {
    // Read once for both.
    const body = await readJsonBody(this.#services, call, count.operation);
    call.keepBody(body);
    if (await this.#continuesOwn(parseBody(body), caller))
      return this.count(call, caller, { ...count, to: count.from });
    try {
      await forward();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'endpoint_not_supported') throw error;
      // The provider holds the earlier turns, so that they cannot be estimated.
      if (parseBody(body).previous_response_id !== undefined) throw error;
      await this.count(call, caller, { ...count, to: count.from });
    }
  }

  /** The request continues a response in our own store, which no provider knows. */
  async #continuesOwn(
    { previous_response_id: id }: Readonly<Record<string, unknown>>,
    { key }: Caller,
  ): Promise<boolean> {
    return typeof id === 'string' && (await this.#services.store.find(id, key.userId))?.content !== undefined;
  }

  async count(call: Call, caller: Caller, { operation, from, to }: Count): Promise<void> {
    const { catalog, store } = this.#services;
    const sent = parseBody(await readJsonBody(this.#services, call, operation, 'converted'));
    const { body } = from === 'responses' ? await expandHistory(sent, caller.key.userId, store) : { body: sent };
    const model = resolveModel(catalog(), caller, call.params.model ?? body.model);
    const decoded = decodeCount(from, body, { headers: call.request.headers, model: model.name, stream: false });
    const request = openSummaries(dropForged(decoded, signerFor(this.#services.opaqueKey, caller)));
    const counted =
      from === to ? undefined : await this.#askProvider(request, { call, group: caller.group, model, to });
    call.addLogFields({ model: model.name, estimated: counted === undefined });
    sendJson(
      call,
      200,
      RESPONSE[from](counted ?? estimateRequest(request)),
      counted === undefined ? { 'x-gateway-token-count': 'estimated' } : { 'x-gateway-converted': `${from}->${to}` },
    );
  }

  /** Returns the provider's count; undefined when no account can count or the provider fails to. */
  async #askProvider(sent: HubRequest, { call, group, model, to }: CountedCall): Promise<number | undefined> {
    const { catalog, upstream, mediaFetcher, rejectedOptions, pool } = this.#services;
    const account = catalog()
      .accounts(group.id)
      .find(({ id, features }) => features.has('count') && !pool.isParked(id));
    if (!account || this.#inFlight >= MAX_IN_FLIGHT) return undefined;
    this.#inFlight += 1;
    try {
      const request = capabilitiesFor(group.style, model).urlMedia
        ? sent
        : await inlineMedia(sent, mediaFetcher, () => call.reserveMemory());
      const target = { style: group.style, account, model, to, rejectedOptions };
      const result = await fetchJson(upstream, countRequest(request, target));
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

interface CountTarget {
  readonly style: Style;
  readonly account: Account;
  readonly model: Model;
  readonly to: Dialect;
  readonly rejectedOptions: RejectedOptions;
}

function countRequest(
  request: HubRequest,
  { style, account, model, to, rejectedOptions }: CountTarget,
): UpstreamRequest {
  const name = upstreamName(model, account);
  const { overrides } = rejectedOptions.lessonsFor(account, name);
  const { body, headers } = codecOf(to).upstream.encodeRequest(request, {
    model: name,
    capabilities: { ...capabilitiesFor(style, { ...model, upstream: name }, { account, dialect: to }), ...overrides },
  });
  const { path, counted } = COUNT_ENDPOINT[to === 'generate' ? 'generate' : 'messages'](name, body);
  return upstreamRequest(style, account, {
    method: 'POST',
    path,
    model: name,
    headers: encodedHeaders(headers),
    body: Buffer.from(JSON.stringify(counted)),
    timeouts: TIMEOUTS.count,
  });
}

/** Members of a messages request that the count endpoint accepts. */
const COUNTED_MEMBERS = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking'];
const COUNT_ENDPOINT: Readonly<
  Record<
    'messages' | 'generate',
    (model: string, body: Readonly<Record<string, unknown>>) => { path: string; counted: object }
  >
> = {
  messages: (_model, body) => ({
    path: '/v1/messages/count_tokens',
    counted: Object.fromEntries(Object.entries(body).filter(([name]) => COUNTED_MEMBERS.includes(name))),
  }),
  generate: (model, body) => ({
    path: `/v1beta/models/${encodeURIComponent(model)}:countTokens`,
    counted: { generateContentRequest: { model: `models/${model}`, ...body } },
  }),
};
