/**
 * Counting tokens where the caller's dialect is not the group's, or where the account cannot count (G 4.3, G 4.6.3): the request is
 * converted and the provider asked; when it does not answer, a local estimate, marked as such. Counting is never charged, takes no
 * place that a generation could have, and gives up early rather than wait.
 */
import type { Account, Model } from '../../catalog/index.ts';
import { capabilitiesFor } from '../../catalog/index.ts';
import { codecOf, decodeCount, type HubRequest } from '../../dialects/index.ts';
import { type Dialect, type Style, type TextOperation, TIMEOUTS } from '../../rules/index.ts';
import { CREDENTIAL_HEADER, fetchJson, locateUpstream, type UpstreamRequest } from '../../upstream/index.ts';
import { type Call, expectJson, readBody, sendJson } from '../../web/index.ts';
import { estimateRequest } from '../billing/estimate.ts';
import type { Caller } from '../caller.ts';
import { resolveModel } from '../models/resolve.ts';
import { upstreamName } from '../native/request.ts';
import { expandHistory } from '../stored/expand.ts';
import type { ConvertedServices } from './convert-call.ts';
import { parseBody } from './json-body.ts';

/** Counts in flight on this replica; beyond that the estimate answers. */
const MAX_AT_ONCE = 16;

const ANSWER: Readonly<Record<'messages' | 'responses' | 'generate', (count: number) => object>> = {
  messages: (count) => ({ input_tokens: count }),
  responses: (count) => ({ object: 'response.input_tokens', input_tokens: count }),
  generate: (count) => ({ totalTokens: count }),
};

export class TokenCounter {
  #atOnce = 0;

  /** Where both dialects are the same, the account cannot count and the estimate is all there is. */
  async count(
    call: Call,
    caller: Caller,
    operation: TextOperation,
    from: keyof typeof ANSWER,
    to: Dialect,
    parts: ConvertedServices,
  ): Promise<void> {
    expectJson(call);
    const sent = parseBody(await readBody(call, parts.bodyLimit(operation)));
    const { body } = from === 'responses' ? await expandHistory(sent, caller.key.userId, parts.store) : { body: sent };
    const model = resolveModel(parts.catalog(), caller, call.params.model ?? body.model);
    const head = {
      headers: call.request.headers as Record<string, string | undefined>,
      model: model.name,
      stream: false,
    };
    const request = decodeCount(from, body, head);
    const counted = from === to ? undefined : await this.#ask(request, caller, model, to, parts);
    call.addLogFields({ model: model.name, estimated: counted === undefined });
    sendJson(
      call,
      200,
      ANSWER[from](counted ?? estimateRequest(request)),
      counted === undefined ? { 'x-gateway-token-count': 'estimated' } : {},
    );
  }

  /** The provider's own count, or undefined when it has none to give. */
  async #ask(
    request: HubRequest,
    { group }: Caller,
    model: Model,
    to: Dialect,
    parts: ConvertedServices,
  ): Promise<number | undefined> {
    const account = parts
      .catalog()
      .accounts(group.id)
      .find(({ features }) => features.has('count'));
    if (!account || this.#atOnce >= MAX_AT_ONCE) return undefined;
    this.#atOnce += 1;
    try {
      const answer = await fetchJson(parts.upstream, questionOf(request, group.style, account, model, to));
      return answer?.status === 200 ? countIn(answer.body) : undefined;
    } finally {
      this.#atOnce -= 1;
    }
  }
}

function countIn(body: unknown): number | undefined {
  const { input_tokens: messages, totalTokens } = (body ?? {}) as { input_tokens?: unknown; totalTokens?: unknown };
  const count = messages ?? totalTokens;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

function questionOf(request: HubRequest, style: Style, account: Account, model: Model, to: Dialect): UpstreamRequest {
  const name = upstreamName(model, account);
  const { body, headers } = codecOf(to).upstream.encodeRequest(request, {
    model: name,
    capabilities: capabilitiesFor(style, { ...model, upstream: name }),
  });
  const { path, question } = QUESTION[to === 'generate' ? 'generate' : 'messages'](name, body);
  return {
    method: 'POST',
    ...locateUpstream(style, account.baseUrl, path),
    headers: [
      'content-type',
      'application/json',
      ...Object.entries(headers).flat(),
      ...CREDENTIAL_HEADER[style](account.credential),
    ],
    body: Buffer.from(JSON.stringify(question)),
    timeouts: TIMEOUTS.count,
  };
}

/** What of a request each provider counts. */
const COUNTED = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking'];
const QUESTION: Readonly<
  Record<
    'messages' | 'generate',
    (model: string, body: Readonly<Record<string, unknown>>) => { path: string; question: object }
  >
> = {
  messages: (_model, body) => ({
    path: '/v1/messages/count_tokens',
    question: Object.fromEntries(Object.entries(body).filter(([name]) => COUNTED.includes(name))),
  }),
  generate: (model, body) => ({
    path: `/v1beta/models/${encodeURIComponent(model)}:countTokens`,
    question: { generateContentRequest: { model: `models/${model}`, ...body } },
  }),
};
