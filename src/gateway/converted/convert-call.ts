/**
 * The converted path: the group does not speak the caller's dialect, so request and reply pass through the hub. Fields that are
 * dropped are named in `x-gateway-dropped`; what cannot be converted is rejected before anything is sent.
 */
import { type Account, capabilitiesFor } from '../../catalog/index.ts';
import { ApiError, fail } from '../../core/index.ts';
import {
  type HubRequest,
  type OpaqueForCall,
  type Pair,
  restoreOpaque,
  restoreTexts,
  upstreamOf,
} from '../../dialects/index.ts';
import type { Call } from '../../platform/web/index.ts';
import {
  type ChosenTier,
  chosenTiers,
  type Dialect,
  type InferenceOperation,
  styleOf,
  TIER_DIALECTS,
  type UpstreamDialect,
} from '../../rules/index.ts';
import type { LegTurn } from '../attempt-budget.ts';
import { estimateRequest } from '../billing/request-tokens.ts';
import type { Caller } from '../caller.ts';
import { LegUnavailable, legError } from '../failover.ts';
import { resolveModel } from '../models/resolve.ts';
import { readJsonBody } from '../services.ts';
import { loadStoredTurns } from '../stored/expand.ts';
import type { ConvertedServices } from './context.ts';
import { ConvertedCall } from './converted-call.ts';
import { clientFor, decodeJob, type Unexpanded } from './decode.ts';
import { inlineMedia } from './inline-media.ts';
import { signerFor } from './opaque-signer.ts';

/** An operation whose requests arrive in one dialect and leave in another. */
export interface Conversion {
  readonly operation: InferenceOperation;
  readonly from: Dialect;
  readonly to: UpstreamDialect;
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
  const { input, size, sign, pair, request, completed, model } = decoded;
  const { previousId, background } = request.state;
  leg?.onModel(model, previousId !== undefined || background === true);
  const facts = {
    operation,
    model,
    ...decoded.facts,
    maxOutput: request.limits.maxOutput,
    tiers: tiersOf(pair, request),
  };
  const created = Math.floor(services.clock.now() / 1000);
  const issuer = styleOf(conversion.to, caller.group.style);
  const replyContext = { request, model: model.name, requestId: call.id, issuer, created };
  const base = { services, call, caller, operation, pair, accounts, request, input, size, model };
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
  const { request, input, facts, size } = await decodeBody(services, call, caller, { operation, from });
  const sign = signerFor(services.opaqueKey, caller);
  const pair: Pair = { client: clientFor(operation, from, input, sign), upstream: upstreamOf(to) };
  const model = resolveModel(services.catalog(), caller, request.model);
  call.addLogFields({ model: model.name, stream: request.stream, converted: `${from}->${to}` });
  call.trace.client = from;
  call.trace.target = to;
  const fetchesMedia = accounts.some(
    (account) => !capabilitiesFor(caller.group.style, model, { account, dialect: to }).urlMedia,
  );
  const signsText = styleOf(to, caller.group.style) === 'generate-content';
  const completed = await withOpaqueAndMedia(services, { call, caller, fetchesMedia, signsText }, request);
  return { input, facts, size, sign, pair, request, completed, model };
}

/** The body in the form of the hub. `size`: its bytes, with those of the stored turns. */
async function decodeBody(
  services: ConvertedServices,
  call: Call,
  caller: Caller,
  { operation, from }: Pick<Conversion, 'operation' | 'from'>,
) {
  const { threads, store, opaqueKey } = services;
  const { key, group } = caller;
  const bytes = await readJsonBody(services, call, operation, 'converted');
  const signedFor = { key: { userId: key.userId }, group: { id: group.id } };
  const head = { headers: call.request.headers, ...(from === 'generate' && headInPath(call, operation)) };
  const input = { bytes, operation, from, head, opaqueKey, signedFor, stores: key.store };
  const decoded = await threads.run(decodeJob, input, { id: key.id, bytes: bytes.length });
  if (!decoded.refersTo) return { ...decoded, size: bytes.length };
  const stored = await loadStoredTurns(decoded.refersTo, key.userId, store).catch((error: unknown) =>
    rejectUnstored(services, caller, decoded, error),
  );
  const storedBytes = Buffer.byteLength(JSON.stringify(stored));
  const size = bytes.length + storedBytes;
  const expanded = await threads.run(decodeJob, { ...input, stored, storedBytes }, { id: key.id, bytes: size });
  if (expanded.refersTo) throw new TypeError('the stored turns of a request were given, and are asked for again');
  return { ...expanded, size };
}

/** What we do not hold may be at the provider of another group, whose line made it; then that line continues it. */
async function rejectUnstored(
  { catalog, store }: ConvertedServices,
  caller: Caller,
  { refersTo: { previousId }, model }: Unexpanded,
  error: unknown,
): Promise<never> {
  const found = previousId === undefined ? undefined : await store.find(previousId, caller.key.userId);
  if (found?.accountId === undefined || !(error instanceof ApiError)) throw error;
  throw new LegUnavailable(error, 'elsewhere', { model: resolveModel(catalog(), caller, model) });
}

/** Generate-content requests have their model and method in the path. The gateway writes events only, not the one list of all of them. */
function headInPath(call: Call, operation: InferenceOperation) {
  const stream = operation === 'generate.stream';
  if (stream && !/(?:^|&)\$?alt=sse(?:&|$)/.test(call.query))
    throw fail('unsupported_parameter', 'alt: only "sse" is supported for streams of this model; add ?alt=sse.', {
      param: 'alt',
    });
  return { model: call.params.model ?? '', stream };
}

/** The tier that the provider is asked for; none where its dialect cannot demand one. */
function tiersOf({ client, upstream }: Pair, { meta }: HubRequest): ChosenTier[] {
  if (!TIER_DIALECTS.has(upstream.dialect)) return [];
  const field = client.dialect === 'generate' ? 'serviceTier' : 'service_tier';
  return chosenTiers((name) => (name === field ? meta.serviceTier : undefined));
}

interface MediaContext {
  readonly call: Call;
  readonly caller: Caller;
  /** Some account does not fetch media itself. */
  readonly fetchesMedia: boolean;
  /** The provider signs its texts. */
  readonly signsText: boolean;
}

/** Adds what the client's dialect cannot carry: opaque values kept from earlier turns, and bytes of media named by URL. */
function withOpaqueAndMedia(
  { opaqueCache, rejectedOpaques, mediaFetcher }: ConvertedServices,
  { call, caller: { key }, fetchesMedia, signsText }: MediaContext,
  request: HubRequest,
): HubRequest | Promise<HubRequest> {
  const lookUp = (id: string): OpaqueForCall | undefined => opaqueCache.get(key.id, id);
  const restored =
    request.dialect === 'chat'
      ? restoreOpaque(request, lookUp, signsText)
      : request.dialect === 'messages' && signsText
        ? restoreTexts(request, lookUp)
        : request;
  const accepted = rejectedOpaques.strip(restored);
  return fetchesMedia ? inlineMedia(accepted, mediaFetcher, () => call.reserveMemory()) : accepted;
}
