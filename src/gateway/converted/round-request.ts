/** The upstream request of one round: encoded for the account that gets it, and what its failures mean. */
import { type Account, capabilitiesFor } from '../../catalog/index.ts';
import { fail, type MaybePromise, whenReady } from '../../core/index.ts';
import * as dialects from '../../dialects/index.ts';
import type { UpstreamRequest } from '../../providers/upstream/index.ts';
import { inferenceRow, styleOf } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { wayError } from '../client-error.ts';
import { upstreamName } from '../models/resolve.ts';
import { type Lessons, mergeLessons, NO_LESSONS } from '../rejected-options/lessons.ts';
import { OptionRetry } from '../rejected-options/option-retry.ts';
import { jobOwner } from '../services.ts';
import type { UpstreamCall } from '../upstream-call.ts';
import { encodedHeaders, timeoutsFor, UPSTREAM_PATHS, upstreamRequest } from '../upstream-request.ts';
import type { CallContext, EncodedFor } from './context.ts';
import { type EncodeInput, encodeJob } from './encode.ts';
import { conversionHeaders } from './headers.ts';

/** Clients of the messages dialect decide themselves. */
export const marksCacheFor = ({ dialect }: dialects.HubRequest, { key }: Caller): boolean =>
  key.autoCache && dialect !== 'messages';

export class RoundRequest {
  readonly hub: dialects.HubRequest;
  readonly #context: Omit<CallContext, 'admission'>;
  readonly #isBound: boolean;
  readonly #encoded = new Map<string, MaybePromise<EncodedFor>>();
  /** By account: its newest attempt. */
  readonly #sent = new Map<string, EncodedFor>();
  readonly #retry: OptionRetry;

  constructor(context: Omit<CallContext, 'admission'>, request: dialects.HubRequest, retry: OptionRetry) {
    this.#context = context;
    this.#retry = retry;
    this.hub = request;
    this.#isBound = dialects.hasOpaque(request);
  }

  encodedFor(account: Account): EncodedFor {
    const sent = this.#sent.get(account.id);
    if (!sent) throw new TypeError(`the account ${account.id} got no request`);
    return sent;
  }

  /** For the decoder of its response. */
  decodeContextFor(account: Account) {
    const { call, services, sign } = this.#context;
    const { thinkTags } = this.encodedFor(account).capabilities;
    return { requestId: call.id, account: services.accountTag(account.id), thinkTags, sign };
  }

  /**
   * Encodes once per upstream model name; once per account with opaque values,
   * rejected options or capabilities of its server.
   */
  encode(account: Account): MaybePromise<EncodedFor> {
    const name = upstreamName(this.#context.model, account);
    const lessons = this.#retry.lessonsFor(account, name);
    if (lessons !== NO_LESSONS) return this.#run(this.#inputFor(account, name, lessons));
    const id = this.#isBound || this.#isServerSpecific(account) ? `${name}\n${account.id}` : name;
    let encodedFor = this.#encoded.get(id);
    if (!encodedFor) {
      encodedFor = this.#run(this.#inputFor(account, name, lessons));
      this.#encoded.set(id, encodedFor);
    }
    return encodedFor;
  }

  #isServerSpecific({ capabilities = {} }: Account): boolean {
    return this.#context.pair.upstream.dialect === 'chat' || Object.keys(capabilities).length > 0;
  }

  #run(input: EncodeInput): MaybePromise<EncodedFor> {
    const { services, call, caller, size } = this.#context;
    return services.threads.run(encodeJob, input, jobOwner(call, caller, size));
  }

  #inputFor(account: Account, name: string, { overrides, removed, dropped }: Lessons): EncodeInput {
    const { pair, caller, model, services } = this.#context;
    const server = { account, dialect: pair.upstream.dialect };
    const known = capabilitiesFor(caller.group.style, { ...model, upstream: name }, server);
    const capabilities = { ...known, ...overrides };
    const marksCache = marksCacheFor(this.hub, caller);
    const target = { model: name, capabilities, account: services.accountTag(account.id), marksCache };
    return { request: this.hub, to: pair.upstream.dialect, target, removed, dropped };
  }

  upstreamCall(onResponse: UpstreamCall['onResponse']): Omit<UpstreamCall, 'onFailed'> {
    const { pair, request, operation, model, accounts, caller, tries } = this.#context;
    const { sends, timeouts } = inferenceRow(operation);
    return {
      accounts,
      tries,
      userId: caller.key.userId,
      sends,
      model,
      use: { model: model.upstream, operation: timeouts },
      build: (account) => this.#build(account),
      onResponse: (head, upstream) => {
        this.#retry.onAccepted(head.account, this.encodedFor(head.account).model);
        return onResponse(head, upstream);
      },
      classify: (failure, account) => this.#classify(failure, account),
      onRejected: (_failure, { error }) => {
        const { code, message, status, param } = dialects.withClientField(pair, request, error);
        throw fail(code, message, { ...(status !== undefined && { status }), ...(param !== undefined && { param }) });
      },
    };
  }

  #classify(failure: dialects.UpstreamFailure, account: Account): dialects.Fault {
    const { pair, call } = this.#context;
    const fault = pair.upstream.decodeError(failure);
    const { encoded, model, body, capabilities } = this.encodedFor(account);
    const isRetried = this.#retry.onRejected(failure, {
      dialect: pair.upstream.dialect,
      account,
      model,
      get body() {
        return encoded.body;
      },
      capabilities,
      request: this.hub,
      isChangedBy: (lessons) => {
        const all = mergeLessons(this.#retry.lessonsFor(account, model), lessons);
        return String(encodeJob.run(this.#inputFor(account, model, all), call.steps).body) !== String(body);
      },
    });
    if (isRetried) return { ...fault, kind: 'option_rejected' };
    // Without opaque values in the request, its client could not find the block that the error speaks of.
    if (fault.kind !== 'opaque_rejected' || this.#isBound) return fault;
    return { ...fault, kind: 'request', error: { ...fault.error, code: 'invalid_request' } };
  }

  #build(account: Account): MaybePromise<UpstreamRequest> {
    return whenReady(this.encode(account), (sent) => this.#requestOf(account, sent));
  }

  #requestOf(account: Account, sent: EncodedFor): UpstreamRequest {
    const { pair, call, caller, operation, request } = this.#context;
    const style = styleOf(pair.upstream.dialect, caller.group.style);
    this.#sent.set(account.id, sent);
    const { encoded, model, body } = sent;
    call.trace.upstreamModel = model;
    call.trace.dropped = encoded.dropped;
    call.trace.changed ??= dialects
      .changedFields(request, pair.upstream.support)
      .map((field) => pair.client.fieldNames[field])
      .filter((name) => !encoded.dropped.includes(name));
    return upstreamRequest(style, account, {
      method: 'POST',
      path: UPSTREAM_PATHS[pair.upstream.dialect](model, this.hub.stream),
      model,
      headers: encodedHeaders(encoded.headers),
      body,
      timeouts: timeoutsFor(operation, this.hub.stream),
      sends: inferenceRow(operation).sends,
    });
  }
}

/** As the first account would get the request. Throws when it has no form in the provider's dialect. */
export async function previewRequest(
  context: Omit<CallContext, 'admission'>,
  request: dialects.HubRequest,
): Promise<{ readonly headers: Record<string, string>; readonly omittedTools: readonly number[] }> {
  const { accounts, call, operation, services } = context;
  const [account] = accounts;
  if (!account) throw fail('no_upstream_account');
  const { log, rejectedOptions } = services;
  const retry = new OptionRetry({ call, log, rejectedOptions, sends: inferenceRow(operation).sends });
  try {
    const sent = await new RoundRequest(context, request, retry).encode(account);
    return { headers: conversionHeaders(context, sent), omittedTools: sent.encoded.omittedTools };
  } catch (error) {
    throw wayError(error);
  }
}
