/**
 * The converted path: the caller's dialect is not the group's, so the request goes through the hub and the answer comes back
 * through it. What is lost on the way is named in `x-gateway-dropped`; what cannot be honoured is refused before anything is sent.
 */
import type { Account, Model } from '../../catalog/index.ts';
import { capabilitiesFor } from '../../catalog/index.ts';
import { ApiError, type Clock, fail } from '../../core/index.ts';

import {
  accountTagsIn,
  type ConvertedRequest,
  codecOf,
  type DecodeContext,
  decodeRequestFor,
  encodeRequestFor,
  type HubItem,
  type HubRequest,
  type HubUsage,
  hasOpaque,
  opaqueByCall,
  type Pair,
  type ReplyContext,
  restoreOpaque,
  withClientField,
  withoutOpaque,
} from '../../dialects/index.ts';
import type { Affinity } from '../../pool/index.ts';
import { type Dialect, type TextOperation, TIMEOUTS } from '../../rules/index.ts';
import { CREDENTIAL_HEADER, locateUpstream } from '../../upstream/index.ts';
import { type Call, expectJson, idHeaders, readBody } from '../../web/index.ts';
import { sessionHash } from '../affinity.ts';
import type { Admission } from '../billing/admission.ts';
import type { Caller } from '../caller.ts';
import {
  type ResponseHandler,
  type ResponseHead,
  runWithFailover,
  type UpstreamCall,
  type UpstreamControl,
} from '../failover.ts';
import { resolveModel } from '../models/resolve.ts';
import type { NativeServices } from '../native/forward.ts';
import { upstreamName } from '../native/request.ts';
import { redact } from '../redact.ts';
import { expandHistory } from '../stored/expand.ts';
import type { StoredContent } from '../stored/store.ts';
import { inlineMedia, type MediaFetcher } from './inline-media.ts';
import { parseBody } from './json-body.ts';
import type { OpaqueCache } from './opaque-cache.ts';
import type { RejectedOpaques } from './rejected-opaque.ts';
import { ReplyRounds } from './rounds.ts';
import { StreamResponse } from './stream-response.ts';
import { UnaryResponse } from './unary-response.ts';

export interface ConvertedServices extends NativeServices {
  readonly clock: Clock;
  readonly sideTable: OpaqueCache;
  readonly rejected: RejectedOpaques;
  readonly fetcher: MediaFetcher;
  /** A short keyed hash of an account; goes into what clients carry for us, so it must not reveal the account. */
  readonly markOf: (accountId: string) => string;
}

/** Everything that the two takers of a converted answer need to know. */
export interface RoundContext {
  readonly call: Call;
  readonly pair: Pair;
  readonly request: HubRequest;
  readonly answer: ReplyContext;
  readonly parts: ConvertedServices;
  preparedFor(account: Account): EncodedFor;
  upstreamContext(account: Account): DecodeContext;
  /** The answer is complete; what the client's dialect has no slot for is kept for the next turn. */
  cacheOpaque(items: readonly HubItem[]): void;
  /** The answer in the client's own form, for clients that may refer to it later. */
  storeResponse(response: unknown): void;
  readonly isStored: boolean;
  readonly telling: ReplyRounds;
  /** Charges the whole answer, all rounds together; resolves when that is on disk. */
  settle(usage: HubUsage, account: Account): Promise<void>;
}

/** The request as one account gets it. */
export interface EncodedFor {
  readonly encoded: ConvertedRequest;
  /** What the account calls the model. */
  readonly model: string;
  /** The body of the request. */
  readonly text: string;
}

export async function convertCall(
  call: Call,
  caller: Caller,
  operation: TextOperation,
  from: Dialect,
  to: Dialect,
  parts: ConvertedServices,
): Promise<void> {
  expectJson(call);
  const reading = readBody(call, parts.bodyLimit(operation));
  const sentBytes = reading instanceof Promise ? await reading : reading;
  const sent = parseBody(sentBytes);
  const { body, input, previousId } =
    from === 'responses'
      ? await expandHistory(sent, caller.key.userId, parts.store)
      : { body: sent, input: [], previousId: undefined };
  const pair: Pair = { client: codecOf(from), upstream: codecOf(to) };
  const decoded = decodeRequestFor(pair, body, { headers: call.request.headers as Record<string, string | undefined> });
  const asked = withState(decoded, { ...(previousId && { previousId }), ...(!caller.key.store && { store: false }) });
  const model = resolveModel(parts.catalog(), caller, asked.model);
  call.addLogFields({ model: model.name, stream: asked.stream, converted: `${from}->${to}` });
  const completing = withOpaqueAndMedia(asked, caller, model, parts);
  const request = completing instanceof Promise ? await completing : completing;
  // What a stored conversation adds is read by the provider too.
  const bodyBytes = previousId === undefined ? sentBytes.length : Buffer.byteLength(JSON.stringify(body));
  const facts = { operation, model, bodyBytes, maxOutput: asked.limits.maxOutput };
  const admitted = parts.meter.admit(call, caller, facts);
  const ticket = admitted instanceof Promise ? await admitted : admitted;
  try {
    await runRounds(
      roundFactory({ call, caller, pair, asked, input, model, ticket, parts }),
      request,
      caller,
      to,
      parts,
    );
  } finally {
    ticket.release();
  }
}

const withState = (request: HubRequest, more: HubRequest['state']): HubRequest => ({
  ...request,
  state: { ...request.state, ...more },
});

/** Asks until the provider has said all; more than once only when it pauses in the middle of its own tools' work. */
async function runRounds(
  open: (request: HubRequest) => RoundContext,
  request: HubRequest,
  caller: Caller,
  to: Dialect,
  parts: ConvertedServices,
): Promise<void> {
  const accounts = parts
    .catalog()
    .accounts(caller.group.id)
    .filter((account) => account.features.has(to));
  const conversation = open(request);
  const { telling, call } = conversation;
  const plainPlan = (round: HubRequest): UpstreamCall => {
    const plan = upstreamCallFor(open(withoutOpaque(round)), caller, to, accounts);
    return {
      ...plan,
      onResponse: (head, source) => {
        parts.rejected.add(round);
        return plan.onResponse(head, source);
      },
    };
  };
  for (let round = request; ; round = { ...request, items: [...request.items, ...telling.items] }) {
    const plain = hasOpaque(round) ? plainPlan(round) : undefined;
    const turn = round === request ? conversation : open(round);
    const plan = {
      ...upstreamCallFor(turn, caller, to, accounts),
      affinity: affinityOf(round, accounts, parts),
      plain,
    };
    await runWithFailover(call, plan, parts).catch((error: unknown) => {
      if (!telling.outlet || !(error instanceof ApiError)) throw error;
      // Half an answer has been told; what went wrong is told in the stream as well.
      telling.outlet.end(telling.encoder.push({ kind: 'error', error: { code: error.code, message: error.message } }));
      telling.onAbandoned();
    });
    if (call.isClientGone) telling.onAbandoned();
    if (!telling.isPaused || call.isClientGone) return;
    telling.nextRound();
  }
}

interface CallSetup {
  readonly call: Call;
  readonly caller: Caller;
  readonly pair: Pair;
  readonly asked: HubRequest;
  readonly input: readonly unknown[];
  readonly model: Model;
  readonly ticket: Admission;
  readonly parts: ConvertedServices;
}

/** Conversations of one call: the request may vary from round to round, all else stays. */
function roundFactory({
  call,
  caller,
  pair,
  asked,
  input,
  model,
  ticket,
  parts,
}: CallSetup): (request: HubRequest) => RoundContext {
  const { key, group } = caller;
  const created = Math.floor(parts.clock.now() / 1000);
  const answer: ReplyContext = { request: asked, model: model.name, requestId: call.id, issuer: group.style, created };
  const telling = new ReplyRounds(() => pair.client.client.openEncoder(answer));
  return (request) => ({
    call,
    pair,
    request,
    parts,
    answer,
    telling,
    preparedFor: requestEncoder(pair, request, caller, model, parts),
    upstreamContext: (account) => ({ requestId: call.id, account: parts.markOf(account.id) }),
    cacheOpaque: (items) => {
      if (asked.dialect === 'chat') parts.sideTable.put(key.id, opaqueByCall(items));
    },
    settle: (usage, account) => {
      ticket.settle(usage, { accountId: account.id });
      return ticket.flushed();
    },
    isStored: asked.dialect === 'responses' && asked.state.store !== false,
    storeResponse: (response) => {
      const { id } = (response ?? {}) as { id?: unknown };
      if (typeof id !== 'string') return;
      parts.store.save({ id, userId: key.userId, content: { input, response: response as StoredContent['response'] } });
    },
  });
}

/** The request with what it does not say itself: opaque values that its dialect cannot carry, bytes of media it only names. */
function withOpaqueAndMedia(
  asked: HubRequest,
  { key, group }: Caller,
  model: Model,
  { sideTable, rejected, fetcher }: ConvertedServices,
): HubRequest | Promise<HubRequest> {
  const recalled =
    asked.dialect === 'chat'
      ? restoreOpaque(asked, (id) => sideTable.get(key.id, id), group.style === 'generate-content')
      : asked;
  const request = rejected.strip(recalled);
  return capabilitiesFor(group.style, model).urlMedia ? request : inlineMedia(request, fetcher);
}

/** A conversation stays with the account whose opaque values it carries; else a session stays where its prompt cache is warm. */
function affinityOf(request: HubRequest, accounts: readonly Account[], { markOf }: ConvertedServices): Affinity {
  const [mark] = accountTagsIn(request);
  const session = request.session ?? request.cache.key;
  return {
    accountId: mark === undefined ? undefined : accounts.find((account) => markOf(account.id) === mark)?.id,
    hash: session === undefined ? undefined : sessionHash(session),
  };
}

/** Encodes once per name that accounts have for the model, usually once in all; opaque values are for one account only. */
function requestEncoder(
  pair: Pair,
  request: HubRequest,
  { group }: Caller,
  line: Model,
  { markOf }: ConvertedServices,
): RoundContext['preparedFor'] {
  const known = new Map<string, EncodedFor>();
  const isBound = hasOpaque(request);
  return (account) => {
    const model = upstreamName(line, account);
    const id = isBound ? `${model}\n${account.id}` : model;
    let prepared = known.get(id);
    if (!prepared) {
      const capabilities = capabilitiesFor(group.style, { ...line, upstream: model });
      const encoded = encodeRequestFor(pair, request, { model, capabilities, account: markOf(account.id) });
      prepared = { encoded, model, text: JSON.stringify(encoded.body) };
      known.set(id, prepared);
    }
    return prepared;
  };
}

// ---------------------------------------------------------------- calling

const PATH: Readonly<Record<Dialect, (model: string, isStream: boolean) => string>> = {
  messages: () => '/v1/messages',
  chat: () => '/v1/chat/completions',
  responses: () => '/v1/responses',
  generate: (model, isStream) =>
    `/v1beta/models/${encodeURIComponent(model)}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
};

function upstreamCallFor(
  conversation: RoundContext,
  caller: Caller,
  to: Dialect,
  accounts: readonly Account[],
): UpstreamCall {
  const { pair, request, answer } = conversation;
  const { style } = caller.group;
  return {
    accounts,
    build: (account) => {
      const { encoded, model, text } = conversation.preparedFor(account);
      return {
        method: 'POST',
        ...locateUpstream(style, account.baseUrl, PATH[to](model, request.stream)),
        headers: [
          ...FIXED_HEADERS,
          ...Object.entries(encoded.headers).flat(),
          ...CREDENTIAL_HEADER[style](account.credential),
        ],
        body: text,
        timeouts: request.stream ? TIMEOUTS.stream : TIMEOUTS.unary,
      };
    },
    onResponse: (head, source) => responseHandlerFor(conversation, head, source),
    classify: (failure) => pair.upstream.upstream.decodeError(failure),
    onRejected: (_failure, { error }, account) => {
      const { code, status, param } = withClientField(pair, answer.request, error);
      const message = redact(error.message, account);
      throw fail(code, message, { ...(status !== undefined && { status }), ...(param !== undefined && { param }) });
    },
  };
}

const FIXED_HEADERS = [
  'content-type',
  'application/json',
  'accept-encoding',
  'identity',
  'user-agent',
  'dragoman',
] as const;

/** Some servers answer a stream request with one whole body; it is told as a stream all the same. */
const responseHandlerFor = (
  conversation: RoundContext,
  head: ResponseHead,
  source: UpstreamControl,
): ResponseHandler =>
  conversation.request.stream && head.headers['content-type']?.includes('text/event-stream') === true
    ? new StreamResponse(conversation, head, source)
    : new UnaryResponse(conversation, head);

/** What every converted answer says about itself. */
export function conversionHeaders(
  { pair, call }: RoundContext,
  { encoded, model }: EncodedFor,
): Record<string, string> {
  return {
    ...idHeaders(call),
    'x-gateway-converted': `${pair.client.dialect}->${pair.upstream.dialect}`,
    'x-gateway-upstream-model': encodeURIComponent(model),
    ...(encoded.dropped.length > 0 && { 'x-gateway-dropped': namesInHeader(encoded.dropped) }),
  };
}

/** Clients and proxies take headers of so much; a caller may invent names without end. */
const DROPPED_CHARS = 4_096;

/** As many names as fit. Some are the caller's own: what they hold must not cost an answer that was paid for. */
function namesInHeader(fields: readonly string[]): string {
  let names = '';
  for (const field of fields) {
    const name = encodeURIComponent(field.slice(0, DROPPED_CHARS).toWellFormed());
    if (names.length + name.length < DROPPED_CHARS) names += names === '' ? name : `,${name}`;
  }
  return names;
}
