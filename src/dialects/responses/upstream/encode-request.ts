/**
 * Encoder of requests: asks for encrypted reasoning and stores
 * nothing upstream. The same conversation gives the same bytes.
 */
import type { EncodedRequest, UpstreamTarget } from '../../codec.ts';
import { encodeSampling, maxOutputFor } from '../../encoding/limits.ts';
import { offeredTools } from '../../hub/effective-request.ts';
import type { HubField, RequestSection } from '../../hub/fields.ts';
import type { HubMeta, HubRequest, JsonObject } from '../../hub/types.ts';
import { mapToolNames } from '../../tools/names.ts';
import { cacheKeyFor, userTag } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { UPSTREAM_TIERS } from '../../wire/service-tiers.ts';
import { encodeFormat, encodeReasoning } from '../encode-settings.ts';
import { droppedSearchOptions, encodeToolChoice, encodeTools, searchLimit } from '../encode-tools.ts';
import { encodeInputParts, setBreakpoints } from './encode-content.ts';
import { encodeImages } from './encode-images.ts';
import { type EncodeContext, encodeItems } from './encode-items.ts';

export function encodeRequest(request: HubRequest, target: UpstreamTarget): EncodedRequest {
  const names = mapToolNames(request, 'responses');
  const context: EncodeContext = { request, target, names, breakpoints: [], resultTypes: new Map() };
  const system = encodeSystem(context);
  const input = [...system.items, ...encodeItems(context)];
  if (target.capabilities.explicitCache) setBreakpoints(context.breakpoints);
  const images = encodeImages(context);
  const tools = [...encodeTools(request.tools, context), ...images.tools];
  const dropped: (HubField | RequestSection)[] = [];
  const body = compact({
    model: target.model,
    instructions: system.instructions,
    input,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: images.choice ?? encodeToolChoice(tools, context),
    parallel_tool_calls: tools.length > 0 ? request.parallelTools : undefined,
    ...limitsOf(request, context),
    // Reasoning models return 400 for any sampling field.
    ...encodeSampling(request, target, { temperature: 'temperature', topP: 'top_p' }, dropped),
    reasoning: encodeReasoning(request.reasoning, target.capabilities),
    text: textOf(request),
    ...metaOf(request.meta),
    prompt_cache_key: cacheKeyFor(request.cache.key ?? request.session),
    prompt_cache_options: request.limits.prewarm ? { prewarm: true } : undefined,
    include: includeOf(target, tools),
    store: false,
    stream: request.stream,
  });
  return {
    body,
    headers: {},
    droppedFields: [...dropped, ...droppedFieldsOf(request, context), ...images.droppedFields],
    ...(images.droppedToolOptions.length > 0 && { droppedToolOptions: images.droppedToolOptions }),
    droppedSearchOptions: droppedSearchOptions(offeredTools(request), context),
    names: new Map([...names.originals].filter(([, tool]) => tool.namespace === undefined)),
    emulateStop: request.sampling.stop ?? [],
  };
}

/**
 * Joins the instructions, or writes them as a developer message: to keep
 * their cache breakpoints, or because input must not be empty.
 */
function encodeSystem(context: EncodeContext): { instructions?: string; items: JsonObject[] } {
  const parts = context.request.system.filter((part) => part.text !== '');
  if (parts.length === 0) return { items: [] };
  const hasBreakpoints = context.target.capabilities.explicitCache && parts.some((part) => part.cache);
  if (hasBreakpoints || context.request.items.length === 0) {
    return { items: [{ type: 'message', role: 'developer', content: encodeInputParts(parts, context.breakpoints) }] };
  }
  return { instructions: parts.map((part) => part.text).join('\n\n'), items: [] };
}

/** Tokens; the API rejects less. */
const MIN_OUTPUT_TOKENS = 16;

function limitsOf(request: HubRequest, context: EncodeContext): JsonObject {
  const { limits } = request;
  const calls = [limits.maxToolCalls, searchLimit(offeredTools(request), context)].filter(
    (limit) => limit !== undefined,
  );
  const requested = limits.prewarm ? undefined : maxOutputFor(request, context.target);
  return compact({
    max_output_tokens: requested === undefined ? undefined : Math.max(MIN_OUTPUT_TOKENS, requested),
    max_tool_calls: calls.length > 0 ? Math.min(...calls) : undefined,
    context_management:
      limits.compactAt === undefined ? undefined : [{ type: 'compaction', compact_threshold: limits.compactAt }],
  });
}

function textOf({ output }: HubRequest): JsonObject | undefined {
  const format = output.format.kind === 'text' ? undefined : encodeFormat(output.format);
  return format || output.verbosity ? compact({ format, verbosity: output.verbosity }) : undefined;
}

function metaOf(meta: HubMeta): JsonObject {
  return compact({
    metadata: meta.metadata,
    service_tier: UPSTREAM_TIERS[meta.serviceTier ?? 'auto'],
    safety_identifier: meta.userId === undefined ? undefined : userTag(meta.userId),
  });
}

/** Models without encrypted reasoning reject `reasoning.encrypted_content`. */
function includeOf({ capabilities }: UpstreamTarget, tools: readonly JsonObject[]): string[] | undefined {
  const include: string[] = [];
  if (capabilities.efforts.length > 0 && capabilities.encryptedReasoning) include.push('reasoning.encrypted_content');
  if (tools.some((tool) => tool.type === 'web_search')) include.push('web_search_call.action.sources');
  return include.length > 0 ? include : undefined;
}

/** Tools and assistant messages of this dialect have no breakpoint field. */
const hasOtherBreakpoints = (request: HubRequest): boolean =>
  offeredTools(request).some((tool) => tool.cache) ||
  request.items.some(
    (item) =>
      item.kind === 'message' && item.role === 'assistant' && item.parts.some((part) => 'cache' in part && part.cache),
  );

/** Fields that this model does not support, beyond `support`. */
function droppedFieldsOf(request: HubRequest, context: EncodeContext): HubField[] {
  const { reasoning, system } = request;
  const { capabilities } = context.target;
  const wantsReasoning = reasoning.mode !== 'off' && (reasoning.mode !== undefined || reasoning.effort !== undefined);
  const hasBreakpoints = context.breakpoints.length > 0 || system.some((part) => part.cache);
  const dropped: Partial<Record<HubField, boolean>> = {
    reasoning: wantsReasoning && capabilities.efforts.length === 0,
    cacheBreakpoints: hasOtherBreakpoints(request) || (hasBreakpoints && !capabilities.explicitCache),
  };
  return (Object.keys(dropped) as HubField[]).filter((field) => dropped[field]);
}
