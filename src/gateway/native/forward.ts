/**
 * The native path: bytes pass both ways. Only credentials,
 * hop-by-hop headers and the model's alias change; chat streams ask for usage.
 */
import { type Account, redact, type Secrets } from '../../catalog/index.ts';
import { fail, isJsonType, type MaybePromise, SSE_COMMENT, whenReady } from '../../core/index.ts';
import { codecOf, type Fault, type HubUsage, type UpstreamFailure } from '../../dialects/index.ts';
import type { Call } from '../../platform/web/index.ts';
import type { AccountUse, Affinity } from '../../providers/pool/index.ts';
import type { UpstreamRequest } from '../../providers/upstream/index.ts';
import { CANNOT_COUNT_STATUSES, type FaultKind, type InferenceOperation, inferenceRow } from '../../rules/index.ts';
import { affinityOf, sessionInHeaders } from '../affinity.ts';
import { runAttempts } from '../attempts.ts';
import { chargedUsage, usageLogFields } from '../billing/usage.ts';
import { clientErrorFor } from '../client-error.ts';
import { droppedHeaders } from '../dropped.ts';
import { upstreamName } from '../models/resolve.ts';
import { hasFallback } from '../next-step.ts';
import type { Way } from '../plan.ts';
import type { Lessons } from '../rejected-options/lessons.ts';
import { OptionRetry } from '../rejected-options/option-retry.ts';
import type { Tries } from '../try-ways.ts';
import type { ResponseHead, UpstreamCall, UpstreamControl } from '../upstream-call.ts';
import { timeoutsFor, upstreamRequest } from '../upstream-request.ts';
import { acceptableBetas, BETA_HEADER, betaMembers, betasOf, withBetas } from './bedrock-betas.ts';
import { EarlyStream } from './early-stream.ts';
import { requestHeaders, responseHeaders } from './headers.ts';
import { ADDED_USAGE_OPTION, USAGE_OPTION } from './hidden-usage.ts';
import { estimateImageUsage, requestedCount } from './images/usage.ts';
import { renamesFor } from './named-models.ts';
import type { LostCall, NativeRequest, NativeServices } from './native-request.ts';
import { NativeResponse, type NativeResponseContext } from './response.ts';
import { endBy, heartbeatFor, imageErrorEvent, streamErrorEvent } from './stream-error.ts';

export interface Forwarding {
  readonly operation: InferenceOperation;
  readonly way: Way & { readonly isNative: true };
  readonly request: NativeRequest;
  readonly tries: Tries;
}

export async function forward(services: NativeServices, call: Call, forwarding: Forwarding): Promise<void> {
  const { operation, way, request, tries } = forwarding;
  const { caller, dialect, model, accounts, others } = way;
  const id = call.params.response_id ?? '';
  if (DELETES.has(operation)) await services.background.endBeforeDelete(id, caller.key.userId);
  const { isStream, bounds, images, tiers } = request;
  call.addLogFields({ model: model?.name, stream: isStream });
  call.trace.client = dialect;
  call.trace.target = dialect;
  call.trace.dropped = request.dropped;
  const facts = model && { ...bounds, operation, model, images: images && requestedCount(images), tiers, others };
  if (request.isBackground) call.addLogFields({ background: true });
  const isKept = request.keeps !== undefined && inferenceRow(operation).billing === 'metered';
  const background =
    facts && (request.isBackground || isKept)
      ? await services.background.begin({
          call,
          caller,
          facts,
          billing: services.billing,
          inputTokens: await (request.heldTokens ?? request.inputTokens)(),
        })
      : undefined;
  const admission = facts && !background ? await services.billing.admit(call, caller, facts) : undefined;
  // After the last line of another group, the error of the own group is left.
  const isAnythingLeft = accounts.length > 1 || hasFallback(tries.progress) || caller.fallback !== undefined;
  const canFailOver = isAnythingLeft && !background && !images;
  const hasEarly = isStream && !background && !call.response.writeEvent;
  const early = hasEarly ? earlyStreamOf(services, call, forwarding) : undefined;
  // By name: a spread of the way costs more than the object.
  const native = new NativeCall({
    isNative: way.isNative,
    dialect,
    accounts,
    caller,
    model,
    boundTo: way.boundTo,
    others,
    services,
    call,
    operation,
    request,
    admission,
    canFailOver,
    early,
    background,
    tries,
  });
  let sentTo: Account | undefined;
  try {
    sentTo = await runAttempts(call, native, services);
    if (call.isClientGone) native.onClientGone(sentTo);
  } catch (error) {
    if (!early?.fail(error)) throw error;
  } finally {
    admission?.release();
    if (background) await background.end(native.lostUsage(sentTo));
  }
  if (CANCELS.has(operation)) await services.background.checkSoon(id, caller.key.userId);
}

/** A picture takes minutes; a text may wait for a slot, or begin on another account after a while. */
function earlyStreamOf(
  { clientStreams }: NativeServices,
  call: Call,
  { request, way: { dialect } }: Forwarding,
): EarlyStream {
  const headers = droppedHeaders(request.dropped ?? []);
  if (request.images)
    return new EarlyStream(clientStreams, call, {
      headers,
      heartbeat: () => SSE_COMMENT,
      errorEvent: ({ code, message, details }) => imageErrorEvent(code, message, details.param),
    }).openAfterSilence();
  const unfinished = { requestId: call.id, id: undefined, sequence: undefined };
  return new EarlyStream(clientStreams, call, {
    headers,
    heartbeat: () => heartbeatFor(dialect),
    errorEvent: (error) => streamErrorEvent[dialect]({ ...unfinished, end: endBy(error) }),
  });
}

const DELETES: ReadonlySet<InferenceOperation> = new Set(['responses.delete', 'interactions.delete'] as const);
const CANCELS: ReadonlySet<InferenceOperation> = new Set(['responses.cancel', 'interactions.cancel'] as const);

type CallContext = NativeResponseContext &
  Forwarding['way'] & {
    readonly services: NativeServices;
    readonly request: NativeRequest;
    readonly tries: Tries;
  };

class NativeCall implements UpstreamCall {
  readonly accounts: readonly Account[];
  readonly affinity: Affinity;
  readonly userId: string;
  readonly sends: 'again' | 'once';
  readonly use: AccountUse;
  readonly model: Secrets['model'];
  readonly tries: Tries;
  readonly #context: CallContext;
  response: NativeResponse | undefined;
  /** The newest attempt carries an option that the gateway added. */
  #asksForUsage = false;
  #betas: readonly string[] = [];
  /** Undefined where the gateway adds nothing to the request. */
  readonly #retry: OptionRetry | undefined;
  #request: NativeRequest;
  /** It is being read without its opaque values. */
  #rest: MaybePromise<NativeRequest> | undefined;

  constructor(context: CallContext) {
    const { call, services, request, operation, model } = context;
    this.#context = context;
    this.#request = request;
    this.accounts = context.accounts;
    this.tries = context.tries;
    // A background response that was lost would be made, and paid for, a second time.
    this.sends = context.background ? 'once' : inferenceRow(operation).sends;
    this.affinity = { accountId: context.boundTo, ...affinityOf(sessionInHeaders(call) ?? request.session) };
    this.userId = context.caller.key.userId;
    this.model = model;
    this.use = { model: model?.upstream, operation: inferenceRow(operation).timeouts };
    const { log, rejectedOptions } = services;
    const hasBetas = this.accounts.some((account) => betasOf(call.header(BETA_HEADER), account));
    const isChanged = request.hidesUsage || hasBetas;
    this.#retry = isChanged ? new OptionRetry({ call, log, rejectedOptions, sends: this.sends }) : undefined;
  }

  /** Once. Other accounts get the rest too: what one provider did not issue, the next did not either. */
  withoutOpaque(): UpstreamCall | undefined {
    if (this.#rest) return undefined;
    this.#rest = this.#request.withoutOpaque?.();
    return this.#rest && this;
  }

  build(account: Account): MaybePromise<UpstreamRequest> {
    return this.#rest
      ? whenReady(this.#rest, (rest) => {
          this.#request = rest;
          this.#context.call.trace.dropped = rest.dropped;
          return this.#build(account);
        })
      : this.#build(account);
  }

  #build(account: Account): UpstreamRequest {
    const { call, caller, operation, model, others = [] } = this.#context;
    const request = this.#request;
    const { method } = inferenceRow(operation);
    const { style } = caller.group;
    const name = this.#nameFor(account);
    call.trace.upstreamModel = model && name;
    const lessons = this.#retry?.lessonsFor(account, name);
    this.#asksForUsage = request.hidesUsage === true && lessons?.removed.includes(USAGE_OPTION) === false;
    return upstreamRequest(style, account, {
      method,
      path: request.pathFor(name),
      model: name,
      headers: this.#headersFor(account, lessons),
      body: request.bodyFor(name, this.#asksForUsage, renamesFor(request.named ?? [], others, account)),
      timeouts: timeoutsFor(operation, request.isStream),
      sends: this.sends,
    });
  }

  #headersFor(account: Account, lessons: Lessons | undefined): string[] {
    const { call, caller } = this.#context;
    const headers = requestHeaders(call, caller.group.style);
    const betas = lessons && betasOf(call.header(BETA_HEADER), account);
    this.#betas = betas ? acceptableBetas(betas, lessons) : [];
    if (!betas || this.#betas.length === betas.length) return headers;
    this.#request = { ...this.#request, dropped: [...new Set([...(this.#request.dropped ?? []), BETA_HEADER])] };
    call.trace.dropped = this.#request.dropped;
    return withBetas(headers, this.#betas);
  }

  keepAlive(): boolean {
    return this.#context.early?.keepAlive() === true;
  }

  onFailed(kind: FaultKind): void {
    this.response?.bookFailed(kind);
    this.response = undefined;
  }

  onResponse(head: ResponseHead, upstream: UpstreamControl): NativeResponse {
    const name = this.#nameFor(head.account);
    this.#retry?.onAccepted(head.account, name);
    if (this.#betas.length > 0) this.#context.services.rejectedOptions.acceptBetas(head.account, name, this.#betas);
    const isSame = this.#request === this.#context.request;
    const context = isSame ? this.#context : { ...this.#context, request: this.#request };
    this.response = new NativeResponse(context, head, upstream);
    return this.response;
  }

  classify(failure: UpstreamFailure, account: Account): Fault {
    const { dialect } = this.#context;
    const fault = codecOf(dialect).upstream.decodeError(failure);
    if (this.use.operation === 'count' && CANNOT_COUNT_STATUSES.has(failure.status))
      return { ...fault, kind: 'cannot_count' };
    // What the path names is missing; the words may be those of a missing model.
    if (!this.#context.model && fault.kind === 'model') return { ...fault, kind: 'request' };
    const model = this.#nameFor(account);
    const betas = this.#context.services.rejectedOptions.newBetas(account, model, this.#betas);
    if (!this.#asksForUsage && betas.length === 0) return fault;
    const body = this.#asksForUsage ? ADDED_USAGE_OPTION : betaMembers(betas);
    const rejected = { dialect, account, model, body, isChangedBy: ({ removed }: Lessons) => removed.length > 0 };
    return this.#retry?.onRejected(failure, rejected) ? { ...fault, kind: 'option_rejected' } : fault;
  }

  #nameFor(account: Account): string {
    const { model } = this.#context;
    return model ? upstreamName(model, account) : '';
  }

  /** The client disconnected. Before the head of a response nothing is known but what the provider was sent. */
  onClientGone(account: Account | undefined): void {
    const { admission, call, request } = this.#context;
    if (this.response) return this.response.onClientGone();
    if (!account || call.isInterrupted) return;
    const { images } = request;
    const made = images && requestedCount(images);
    const usage = images && made ? estimateImageUsage(images, made) : this.#inputOnly();
    call.addLogFields({ account: account.id, ...usageLogFields(usage) });
    admission?.settle(usage, { account, images: made });
  }

  /** What a request may cost that was sent, but whose client disconnected before the provider responded. */
  lostUsage(sentTo: Account | undefined): LostCall | undefined {
    const { call, operation } = this.#context;
    const { keeps } = this.#request;
    // The provider may keep what the client did not wait for.
    const isAnswered = this.response !== undefined && !keeps;
    if (!call.isClientGone || call.isInterrupted || isAnswered || !sentTo) return undefined;
    const lost = keeps ? { usage: keeps.usageOf(undefined), operation } : { usage: this.#inputOnly() };
    return { ...lost, accountId: sentTo.id };
  }

  #inputOnly(): HubUsage {
    const { inputTokens, searches } = this.#context.request;
    const usage = chargedUsage(undefined, { input: inputTokens, output: () => 0 }, false);
    return searches === undefined ? usage : { ...usage, searches };
  }

  onRejected(failure: UpstreamFailure, fault: Fault, account: Account): void {
    // A line that rejects the request cannot serve it; its words would be about a model that the caller did not name.
    if (this.#context.early?.isOpen || this.#context.caller.fallback) throw clientErrorFor(fault);
    sendRejection(this.#context.call, failure, { account, model: this.model });
  }
}

/** Sends the provider's own error body with our secrets removed: clients switch features off by its wording. */
function sendRejection(call: Call, failure: UpstreamFailure, secrets: Secrets): void {
  const { status } = failure;
  // An HTML page of a proxy in between is unreadable for an SDK.
  if (!isJsonType(failure.headers['content-type']))
    throw fail('upstream_error', `The provider rejected the request with a non-JSON body (HTTP ${status}).`, {
      status: status < 500 ? 400 : 502,
    });
  const body = Buffer.from(redact(failure.body, secrets));
  call.response.writeHead(status, { ...responseHeaders(call, failure.headers), 'content-length': body.length });
  call.response.end(body);
}
