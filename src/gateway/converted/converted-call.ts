/**
 * One converted call as a state machine: rounds until the reply is complete, each with failover. Charges exactly once.
 */
import type { Account } from '../../catalog/index.ts';
import { ApiError, EVENT_STREAM, isEventStream } from '../../core/index.ts';
import * as dialects from '../../dialects/index.ts';
import type { Affinity } from '../../providers/pool/index.ts';
import { type FaultKind, inferenceRow } from '../../rules/index.ts';
import { affinityOf, sessionInBody, sessionInHeaders } from '../affinity.ts';
import { runAttempts } from '../attempts.ts';
import type { AttemptFailure } from '../billing/failed-usage.ts';
import { chargedUsage, usageLogFields } from '../billing/usage.ts';
import { OptionRetry } from '../rejected-options/option-retry.ts';
import type { StoringContent } from '../stored/turn-text.ts';
import type { ResponseHead, UpstreamCall, UpstreamControl } from '../upstream-call.ts';
import { ClientReply } from './client-reply.ts';
import type { CallContext } from './context.ts';
import { estimateImages, madeImages, withImageTokens } from './image-usage.ts';
import type { CompletedReply, MeteredRound, RoundHost, RoundResponse } from './round.ts';
import { marksCacheFor, RoundRequest } from './round-request.ts';
import { ReplyRounds } from './rounds.ts';
import { StreamResponse } from './stream-response.ts';
import { UnaryResponse } from './unary-response.ts';

export class ConvertedCall implements RoundHost {
  readonly context: CallContext;
  readonly rounds = new ReplyRounds();
  readonly client: ClientReply;
  /** The newest response of the current round; undefined until an account responds. */
  #response: RoundResponse | undefined;
  readonly #retry: OptionRetry;

  constructor(context: CallContext) {
    this.context = context;
    const { call, operation } = context;
    const { log, rejectedOptions } = context.services;
    this.#retry = new OptionRetry({ call, log, rejectedOptions, sends: inferenceRow(operation).sends });
    this.client = new ClientReply(context, () => this.#response?.resume());
  }

  /** Resolves when the client has the reply or is gone; rejects with the error for the client. */
  async run(request: dialects.HubRequest): Promise<void> {
    const { call, services } = this.context;
    for (;;) {
      this.#response = undefined;
      const round = this.#upstreamCall(this.rounds.requestFor(request));
      const { completed } = this.rounds;
      const sentTo = await runAttempts(call, round, services).catch((error: unknown) => this.#fail(error));
      if (call.isClientGone) return this.#abandon(sentTo);
      const isRepeated = this.#state === 'paused' && this.rounds.completed === completed;
      if (isRepeated || this.#state === 'failed') this.#bookFailed('failed');
      if (this.#state === 'failed') this.#bookRounds();
      if (this.#state !== 'paused') return;
    }
  }

  complete({ items, usage, account, response }: CompletedReply): Promise<void> {
    const { services, caller, request, input, previous, admission } = this.context;
    const { key } = caller;
    if (request.dialect === 'chat') services.opaqueCache.put(key.id, dialects.opaqueByCall(items));
    if (request.dialect === 'messages') services.opaqueCache.put(key.id, dialects.opaqueOfLastText(items));
    // The end of a background response stores it.
    if (request.dialect === 'responses' && request.state.store !== false && !request.state.background) {
      const { id } = (response ?? {}) as { id?: unknown };
      const content = { input, response: response as StoringContent['response'] };
      if (typeof id === 'string') services.store.save({ id, userId: key.userId, keyId: key.id, content, previous });
    }
    this.#settle(usage, account, items);
    return admission.flushed();
  }

  usageOf({ reported, items, output, isFinished }: MeteredRound): dialects.HubUsage {
    const { images, inputTokens: input } = this.context;
    const drawn = (): number => (images ? estimateImages(images, items) : 0);
    return chargedUsage(reported, { input, output: images ? drawn : output }, isFinished);
  }

  #settle(usage: dialects.HubUsage, account: Account, items: readonly dialects.HubItem[]): void {
    const { admission, call, images } = this.context;
    call.addLogFields({ account: account.id, ...usageLogFields(usage) });
    const open = this.#response?.reported;
    const from = { account, replyModel: this.#response?.model };
    const reported = open ? this.rounds.usageWith(open) : this.rounds.spent?.usage;
    if (images) admission.settle(withImageTokens(usage), { ...from, images: madeImages(images, items) });
    else admission.settle(usage, { ...from, reported });
  }

  get #state(): RoundResponse['state'] | undefined {
    return this.#response?.state;
  }

  #upstreamCall(round: dialects.HubRequest): UpstreamCall {
    // Once a provider responds to the rest, the values are known to be invalid.
    const onAccepted = (): void => this.context.services.rejectedOpaques.add(round);
    return {
      ...this.#attemptsOf(round),
      affinity: this.#affinityOf(round),
      withoutOpaque: () =>
        dialects.hasOpaque(round) ? this.#attemptsOf(dialects.withoutOpaque(round), onAccepted) : undefined,
    };
  }

  #attemptsOf(round: dialects.HubRequest, onAccepted = (): void => {}): UpstreamCall {
    const request = new RoundRequest(this.context, round, this.#retry);
    const onResponse: UpstreamCall['onResponse'] = (head, upstream) => {
      onAccepted();
      return this.#open(request, head, upstream);
    };
    const onFailed = (kind: FaultKind): void => {
      this.#bookFailed(kind);
      this.#response = undefined;
    };
    return { ...request.upstreamCall(onResponse), onFailed, keepAlive: () => this.client.keepAlive() };
  }

  /**
   * Some servers respond to a stream request with one JSON body;
   * the client still gets a stream. No content type means a stream.
   */
  #open(request: RoundRequest, head: ResponseHead, upstream: UpstreamControl): RoundResponse {
    const isStream = request.hub.stream && isEventStream(head.headers['content-type'] ?? EVENT_STREAM);
    this.#response = isStream
      ? new StreamResponse(this, request, head, upstream)
      : new UnaryResponse(this, request, head, upstream);
    return this.#response;
  }

  /**
   * A reply stays with its account, a conversation with the issuer of its opaque values,
   * and a session where its prompt cache is warm.
   */
  #affinityOf(round: dialects.HubRequest): Affinity {
    const { accounts, services, call, caller } = this.context;
    const [tag] = dialects.accountTagsIn(round);
    const issuer = tag === undefined ? undefined : accounts.find(({ id }) => services.accountTag(id) === tag);
    const named = round.session ?? round.cache.key ?? sessionInHeaders(call) ?? sessionInMeta(round);
    // The cache that the gateway asks for is that of one account.
    const session = named ?? (accounts.length > 1 && marksCacheFor(round, caller) ? openingOf(round) : undefined);
    return { accountId: (this.rounds.spent?.account ?? issuer)?.id, ...affinityOf(session) };
  }

  /** No account completed the round. A stream that has begun gets the error as an event. */
  #fail(error: unknown): undefined {
    if (!this.client.isOpen || !(error instanceof ApiError)) {
      this.#bookRounds();
      throw error;
    }
    this.client.push({ kind: 'error', error: { code: error.code, message: error.message } });
    this.client.end();
    this.#abandon(undefined);
  }

  /** The round has failed: its cost is the operator's. */
  #bookFailed(fault: AttemptFailure): void {
    const usage = this.#response?.failedUsage;
    if (this.#response && usage) this.#book(usage, this.#response, fault);
  }

  /** The reply fails after rounds that the provider has completed. */
  #bookRounds(): void {
    const { spent } = this.rounds;
    if (spent) this.#book(spent.usage, spent, 'failed');
  }

  #book(usage: dialects.HubUsage, { account, model }: Pick<RoundResponse, 'account' | 'model'>, fault: AttemptFailure) {
    const { admission, images } = this.context;
    admission.bookFailed(images ? withImageTokens(usage) : usage, { account, fault, replyModel: model });
  }

  /**
   * The reply ends without a finish.
   * Charges completed rounds and an estimate of the open one, which is aborted before it reports usage.
   */
  #abandon(sentTo: Account | undefined): void {
    const { call } = this.context;
    const open = this.#openUsage(sentTo);
    const usage = open ? this.rounds.usageWith(open) : this.rounds.spent?.usage;
    const account = open ? (this.#response?.account ?? sentTo) : this.rounds.spent?.account;
    if (call.isInterrupted && !open) this.#bookFailed('interrupted');
    if (!usage || !account || this.#state === 'complete') return;
    this.#settle(usage, account, this.rounds.items);
  }

  /** Before the head of a response nothing is known but what the provider was sent. */
  #openUsage(sentTo: Account | undefined): dialects.HubUsage | undefined {
    const { call } = this.context;
    if (this.#state === 'open') return this.#response?.estimate();
    const isWaiting = this.#response === undefined && sentTo !== undefined;
    if (!isWaiting || !call.isClientGone || call.isInterrupted) return undefined;
    return this.usageOf({ reported: undefined, items: [], output: () => 0, isFinished: false });
  }
}

const sessionInMeta = ({ dialect, meta: { userId } }: dialects.HubRequest): string | undefined =>
  sessionInBody(dialect, (member) => {
    if (member === 'metadata') return { user_id: userId };
    return member === 'user' ? userId : undefined;
  });

/** How a conversation that goes on begins, which all its requests share. Undefined for a single question. */
function openingOf({ items, tools }: dialects.HubRequest): string | undefined {
  const isReply = (item: dialects.HubItem): boolean => item.kind === 'message' && item.role === 'assistant';
  if (tools.length === 0 && !items.some(isReply)) return undefined;
  const first = items.find((item) => item.kind === 'message' && item.role === 'user');
  const text = first?.kind === 'message' ? first.parts.find((part) => part.kind === 'text') : undefined;
  return text?.kind === 'text' ? text.text.slice(0, OPENING_CHARS) : undefined;
}
const OPENING_CHARS = 1_000;
