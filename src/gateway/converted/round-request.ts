/** The upstream request of one round: encoded for the account that gets it, and what its failures mean. */
import { type Account, capabilitiesFor } from '../../catalog/index.ts';
import { fail } from '../../core/index.ts';
import { encodeRequestFor, type Fault, type HubRequest, hasOpaque, withClientField } from '../../dialects/index.ts';
import { type Dialect, inferenceRow, TIMEOUTS } from '../../rules/index.ts';
import { CREDENTIAL_HEADER, locateUpstream, type UpstreamRequest } from '../../upstream/index.ts';
import type { UpstreamCall } from '../failover.ts';
import { upstreamName } from '../models/resolve.ts';
import { redact } from '../redact.ts';
import type { CallContext, EncodedFor } from './context.ts';

const PATH: Readonly<Record<Dialect, (model: string, isStream: boolean) => string>> = {
  messages: () => '/v1/messages',
  chat: () => '/v1/chat/completions',
  responses: () => '/v1/responses',
  generate: (model, isStream) =>
    `/v1beta/models/${encodeURIComponent(model)}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
};

const FIXED_HEADERS = [
  'content-type',
  'application/json',
  'accept-encoding',
  'identity',
  'user-agent',
  'dragoman',
] as const;

export class RoundRequest {
  readonly hub: HubRequest;
  readonly #context: CallContext;
  readonly #isBound: boolean;
  readonly #encoded = new Map<string, EncodedFor>();

  constructor(context: CallContext, request: HubRequest) {
    this.#context = context;
    this.hub = request;
    this.#isBound = hasOpaque(request);
  }

  /** Encodes once per upstream model name, which is usually once in all. Opaque values are bound to an account, so then once per account. */
  encodedFor(account: Account): EncodedFor {
    const { pair, caller, model, services } = this.#context;
    const name = upstreamName(model, account);
    const id = this.#isBound ? `${name}\n${account.id}` : name;
    let encodedFor = this.#encoded.get(id);
    if (!encodedFor) {
      const capabilities = capabilitiesFor(caller.group.style, { ...model, upstream: name });
      const target = { model: name, capabilities, account: services.accountTag(account.id) };
      const encoded = encodeRequestFor(pair, this.hub, target);
      encodedFor = { encoded, model: name, body: JSON.stringify(encoded.body) };
      this.#encoded.set(id, encodedFor);
    }
    return encodedFor;
  }

  /** The upstream call of this round on any of the accounts. */
  upstreamCall(accounts: readonly Account[], onResponse: UpstreamCall['onResponse']): UpstreamCall {
    const { pair, request, operation, model } = this.#context;
    const { sends, timeouts } = inferenceRow(operation);
    return {
      accounts,
      sends,
      use: { model: model.upstream, operation: timeouts },
      build: (account) => this.#build(account),
      onResponse,
      classify: (failure) => this.#classify(pair.upstream.decodeError(failure)),
      onRejected: (_failure, { error }, account) => {
        const { code, status, param } = withClientField(pair, request, error);
        const message = redact(error.message, account);
        throw fail(code, message, { ...(status !== undefined && { status }), ...(param !== undefined && { param }) });
      },
    };
  }

  /** A request without opaque values has none that could be rejected; its client could not find the block that the error speaks of. */
  #classify(fault: Fault): Fault {
    if (fault.kind !== 'opaque_rejected' || this.#isBound) return fault;
    return { ...fault, kind: 'request', error: { ...fault.error, code: 'invalid_request' } };
  }

  #build(account: Account): UpstreamRequest {
    const { pair, caller, operation } = this.#context;
    const { sends, timeouts } = inferenceRow(operation);
    const { style } = caller.group;
    const { encoded, model, body } = this.encodedFor(account);
    return {
      method: 'POST',
      ...locateUpstream(style, account.baseUrl, PATH[pair.upstream.dialect](model, this.hub.stream)),
      headers: [
        ...FIXED_HEADERS,
        ...Object.entries(encoded.headers).flat(),
        ...CREDENTIAL_HEADER[style](account.credential),
      ],
      body,
      timeouts: timeouts === 'image' ? TIMEOUTS.image : this.hub.stream ? TIMEOUTS.stream : TIMEOUTS.unary,
      // On an idle connection that the provider is closing, it would stay unknown whether it received the request.
      connection: sends === 'once' ? 'new' : 'any',
    };
  }
}
