/**
 * The converted path: request and reply pass through the hub.
 * What is dropped is named; what cannot be converted is rejected first.
 */
import { capabilitiesFor, type Model } from '../../catalog/index.ts';
import { parseJson } from '../../core/index.ts';
import * as dialects from '../../dialects/index.ts';
import { LARGE_BODY_BYTES } from '../../platform/threads/index.ts';
import type { Call } from '../../platform/web/index.ts';
import * as rules from '../../rules/index.ts';
import type { CallFacts } from '../billing/call-facts.ts';
import { estimateRequest } from '../billing/request-tokens.ts';
import { wayError } from '../client-error.ts';
import type { Way } from '../plan.ts';
import type { Tries } from '../try-ways.ts';
import type { ConvertedServices } from './context.ts';
import { ConvertedCall } from './converted-call.ts';
import { clientFor } from './decode.ts';
import { inlineMedia } from './inline-media.ts';
import { signerFor } from './opaque-signer.ts';
import type { HubRead } from './read-hub.ts';

export interface Conversion {
  readonly operation: rules.InferenceOperation;
  readonly from: rules.Dialect;
  readonly way: Way & { readonly model: Model };
  readonly read: HubRead;
  readonly tries: Tries;
}

export async function convertCall(services: ConvertedServices, call: Call, conversion: Conversion): Promise<void> {
  const { operation, from, way, read, tries } = conversion;
  const { caller, accounts, model, dialect: to } = way;
  const { request, input, previous, size } = read;
  const sign = signerFor(services.opaqueKey, caller);
  const pair: dialects.Pair = {
    client: clientFor(operation, from, () => parseJson(input) as unknown[], sign),
    upstream: dialects.upstreamOf(to),
  };
  call.addLogFields({ model: model.name, stream: request.stream, converted: `${from}->${to}` });
  call.trace.client = from;
  call.trace.target = to;
  // What has no form in the provider's dialect may have one in that of other accounts.
  const completed = await complete(services, call, way, request).catch((error: unknown) =>
    Promise.reject(wayError(error)),
  );
  const facts = conversionFacts(operation, pair, model, read);
  const created = Math.floor(services.clock.now() / 1000);
  const issuer = rules.styleOf(to, caller.group.style);
  const replyContext = { request, model: model.name, requestId: call.id, issuer, created };
  const base = { services, call, caller, operation, pair, accounts, request, input, previous, size, model };
  const known = size > LARGE_BODY_BYTES ? { facts, bytes: size } : undefined;
  const inputTokens = (exactChars?: number) => estimateRequest(request, known, undefined, exactChars);
  const context = { ...base, inputTokens, replyContext, sign };
  if (request.state.background) return services.backgroundRuns.start({ context, facts, request: completed });
  const admission = await services.billing.admit(call, caller, facts);
  try {
    await new ConvertedCall({ ...context, tries, admission }).run(completed);
  } finally {
    admission.release();
  }
}

export const conversionFacts = (
  operation: rules.InferenceOperation,
  pair: dialects.Pair,
  model: Model,
  { facts, request }: HubRead,
): CallFacts => ({
  operation,
  model,
  ...facts,
  maxOutput: request.limits.maxOutput,
  tiers: tiersOf(pair, request),
  // The provider reads everything once more for its summary.
  rereads: request.limits.compactAt !== undefined && pair.upstream.support.compaction !== 'dropped' ? 1 : 0,
});

/** The tier that the provider is asked for; none where its dialect cannot demand one. */
function tiersOf({ client, upstream }: dialects.Pair, { meta }: dialects.HubRequest): rules.ChosenTier[] {
  if (!rules.TIER_DIALECTS.has(upstream.dialect)) return [];
  const field = client.dialect === 'generate' ? 'serviceTier' : 'service_tier';
  return rules.chosenTiers((name) => (name === field ? meta.serviceTier : undefined));
}

/**
 * Adds what the client's dialect cannot carry: opaque values kept from earlier turns, and bytes of media named by URL.
 */
async function complete(
  { opaqueCache, rejectedOpaques, mediaFetcher }: ConvertedServices,
  call: Call,
  { caller: { key, group }, accounts, model, dialect }: Conversion['way'],
  request: dialects.HubRequest,
): Promise<dialects.HubRequest> {
  const lookUp = (id: string): dialects.OpaqueForCall | undefined => opaqueCache.get(key.id, id);
  // The provider signs its texts.
  const signsText = rules.styleOf(dialect, group.style) === 'generate-content';
  let restored = request;
  if (request.dialect === 'chat') restored = dialects.restoreOpaque(request, lookUp, signsText);
  else if (request.dialect === 'messages' && signsText) restored = dialects.restoreTexts(request, lookUp);
  const accepted = rejectedOpaques.strip(restored);
  const fetchesMedia = accounts.some((account) => !capabilitiesFor(group.style, model, { account, dialect }).urlMedia);
  return fetchesMedia ? inlineMedia(accepted, mediaFetcher, () => call.reserveMemory()) : accepted;
}
