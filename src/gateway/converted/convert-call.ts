/**
 * The converted path: the group does not speak the caller's dialect, so request and reply pass through the hub. Fields that are
 * dropped are named in `x-gateway-dropped`; what cannot be converted is rejected before anything is sent.
 */
import { type Account, capabilitiesFor } from '../../catalog/index.ts';
import {
  codecOf,
  compactionClient,
  type HubRequest,
  type OpaqueForCall,
  openSummaries,
  type Pair,
  restoreOpaque,
  restoreTexts,
} from '../../dialects/index.ts';
import {
  type ChosenTier,
  chosenTiers,
  type Dialect,
  type InferenceOperation,
  inferenceRow,
  TIER_DIALECTS,
} from '../../rules/index.ts';
import type { Call } from '../../web/index.ts';
import type { LegTurn } from '../attempt-budget.ts';
import { boundsOfRequest } from '../billing/body-bounds.ts';
import { estimateRequest } from '../billing/request-tokens.ts';
import type { Caller } from '../caller.ts';
import { legError } from '../failover.ts';
import { resolveModel } from '../models/resolve.ts';
import { readJsonBody } from '../services.ts';
import { expandHistory } from '../stored/expand.ts';
import { userMessages } from '../stored/input-items.ts';
import type { ConvertedServices } from './context.ts';
import { ConvertedCall } from './converted-call.ts';
import { inlineMedia } from './inline-media.ts';
import { parseBody } from './json-body.ts';
import { dropForged, signerFor } from './opaque-signer.ts';

/** An operation whose requests arrive in one dialect and leave in another. */
export interface Conversion {
  readonly operation: InferenceOperation;
  readonly from: Dialect;
  readonly to: Dialect;
  /** Those that speak the second dialect. */
  readonly accounts: readonly Account[];
  /** Accounts of another dialect can take the call too. */
  readonly leg?: LegTurn | undefined;
}

export async function convertCall(
  services: ConvertedServices,
  call: Call,
  caller: Caller,
  conversion: Conversion,
): Promise<void> {
  const { operation, accounts, leg } = conversion;
  // What has no form in the provider's dialect may have one in that of other accounts.
  const decoded = await decodeCall(services, call, caller, conversion).catch((error: unknown) =>
    Promise.reject(legError(error)),
  );
  const { body, input, inputBytes, sign, pair, request, completed, model } = decoded;
  const facts = {
    operation,
    model,
    ...boundsOfRequest(operation, body, inputBytes),
    maxOutput: request.limits.maxOutput,
    tiers: tiersOf(pair, request),
  };
  const created = Math.floor(services.clock.now() / 1000);
  const issuer = caller.group.style;
  const replyContext = { request, model: model.name, requestId: call.id, issuer, created };
  const base = { services, call, caller, operation, pair, accounts, request, input, model };
  const context = { ...base, inputTokens: () => estimateRequest(request), replyContext, sign };
  if (request.state.background) return services.backgroundRuns.start({ context, facts, request: completed });
  const admission = await services.billing.admit(call, caller, facts);
  try {
    await new ConvertedCall({ ...context, leg, admission }).run(completed);
  } finally {
    admission.release();
  }
}

/** The request of the client in the form of the hub, with everything that it refers to. */
async function decodeCall(
  services: ConvertedServices,
  call: Call,
  caller: Caller,
  { operation, from, to, accounts }: Conversion,
) {
  const bytes = await readJsonBody(services, call, operation);
  const { body, input, previousId } = await expanded(services, caller, from, parseBody(bytes));
  const sign = signerFor(services.opaqueKey, caller);
  const row = inferenceRow(operation);
  const compacts = 'converts' in row && row.converts === 'compact';
  const client = compacts
    ? compactionClient({ sign, userMessages: (id) => userMessages(input, id) })
    : codecOf(from).client;
  const pair: Pair = { client, upstream: codecOf(to).upstream };
  const request = withState(openSummaries(dropForged(client.decodeRequest(body, call.request), sign)), {
    ...(previousId && { previousId }),
    ...(!caller.key.store && { store: false }),
  });
  const model = resolveModel(services.catalog(), caller, request.model);
  call.addLogFields({ model: model.name, stream: request.stream, converted: `${from}->${to}` });
  call.trace.client = from;
  call.trace.target = to;
  const fetchesMedia = accounts.some(
    (account) => !capabilitiesFor(caller.group.style, model, { account, dialect: to }).urlMedia,
  );
  const completed = await withOpaqueAndMedia(services, { call, caller, fetchesMedia }, request);
  // The provider reads the stored turns too, so they count as input.
  const inputBytes = previousId === undefined ? bytes.length : Buffer.byteLength(JSON.stringify(body));
  return { body, input, inputBytes, sign, pair, request, completed, model };
}

/** The tier that the provider is asked for; none where its dialect cannot demand one. */
function tiersOf({ client, upstream }: Pair, { meta }: HubRequest): ChosenTier[] {
  if (!TIER_DIALECTS.has(upstream.dialect)) return [];
  const field = client.dialect === 'generate' ? 'serviceTier' : 'service_tier';
  return chosenTiers((name) => (name === field ? meta.serviceTier : undefined));
}

type Body = Readonly<Record<string, unknown>>;

/** Only the responses dialect refers to stored turns. */
async function expanded({ store }: ConvertedServices, { key }: Caller, from: Dialect, body: Body) {
  return from === 'responses'
    ? await expandHistory(body, key.userId, store)
    : { body, input: [], previousId: undefined };
}

const withState = (request: HubRequest, more: HubRequest['state']): HubRequest => ({
  ...request,
  state: { ...request.state, ...more },
});

interface MediaContext {
  readonly call: Call;
  readonly caller: Caller;
  /** Some account does not fetch media itself. */
  readonly fetchesMedia: boolean;
}

/** Adds what the client's dialect cannot carry: opaque values kept from earlier turns, and bytes of media named by URL. */
function withOpaqueAndMedia(
  { opaqueCache, rejectedOpaques, mediaFetcher }: ConvertedServices,
  { call, caller: { key, group }, fetchesMedia }: MediaContext,
  request: HubRequest,
): HubRequest | Promise<HubRequest> {
  const lookUp = (id: string): OpaqueForCall | undefined => opaqueCache.get(key.id, id);
  const signsText = group.style === 'generate-content';
  const restored =
    request.dialect === 'chat'
      ? restoreOpaque(request, lookUp, signsText)
      : request.dialect === 'messages' && signsText
        ? restoreTexts(request, lookUp)
        : request;
  const accepted = rejectedOpaques.strip(restored);
  return fetchesMedia ? inlineMedia(accepted, mediaFetcher, () => call.reserveMemory()) : accepted;
}
