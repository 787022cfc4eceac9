/**
 * A request for an upstream of this dialect. Nothing is stored there, and encrypted reasoning is always asked for, since the
 * client carries the state. Pure: the same conversation gives the same bytes, which prompt caches depend on.
 */
import type { EncodedRequest, UpstreamTarget } from '../../codec.ts';
import { rejectPrefill } from '../../errors/rejection.ts';
import { offeredTools } from '../../hub/effective-request.ts';
import type { HubField } from '../../hub/fields.ts';
import type { HubMeta, HubRequest, JsonObject } from '../../hub/types.ts';
import { mapNames } from '../../tools/names.ts';
import { cacheKeyFor, userTag } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { UPSTREAM_TIERS } from '../../wire/service-tiers.ts';
import { encodeFormat, encodeReasoning } from '../encode-settings.ts';
import { encodeToolChoice, encodeTools, leavesOut } from '../encode-tools.ts';
import { encodeInput, setBreakpoints } from './encode-content.ts';
import { encodeItems, type Job } from './encode-items.ts';

export function encodeRequest(request: HubRequest, target: UpstreamTarget): EncodedRequest {
  if (endsInPrefill(request) && !target.capabilities.prefill) rejectPrefill();
  const names = mapNames(request, 'responses');
  const job: Job = { request, target, names, marks: [], calls: new Map() };
  const system = encodeSystem(job);
  const input = [...system.items, ...encodeItems(job)];
  if (target.capabilities.explicitCache) setBreakpoints(job.marks);
  const tools = encodeTools(request.tools, job);
  const body = compact({
    model: target.model,
    instructions: system.instructions,
    input,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: encodeToolChoice(tools, job),
    parallel_tool_calls: tools.length > 0 ? request.parallelTools : undefined,
    ...limitsOf(request, target),
    ...samplingOf(request, target),
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
    droppedFields: droppedOf(request, job),
    names: new Map([...names.back].filter(([, tool]) => tool.namespace === undefined)),
    emulateStop: request.sampling.stop ?? [],
  };
}

function endsInPrefill({ items }: HubRequest): boolean {
  const last = items.at(-1);
  return last?.kind === 'message' && last.role === 'assistant';
}

/** Instructions as one text, or as a developer message where cache marks inside them can be kept. */
function encodeSystem(job: Job): { instructions?: string; items: JsonObject[] } {
  const parts = job.request.system.filter((part) => part.text !== '');
  if (parts.length === 0) return { items: [] };
  if (job.target.capabilities.explicitCache && parts.some((part) => part.cache)) {
    return { items: [{ type: 'message', role: 'developer', content: encodeInput(parts, job.marks) }] };
  }
  return { instructions: parts.map((part) => part.text).join('\n\n'), items: [] };
}

/** The API refuses less than 16. */
const MIN_OUTPUT = 16;

function limitsOf({ limits }: HubRequest, target: UpstreamTarget): JsonObject {
  const most = target.maxOutput ?? target.capabilities.maxOutput;
  const wanted = limits.prewarm ? undefined : limits.maxOutput;
  return compact({
    max_output_tokens: wanted === undefined ? undefined : Math.max(MIN_OUTPUT, Math.min(wanted, most)),
    max_tool_calls: limits.maxToolCalls,
    context_management:
      limits.compactAt === undefined ? undefined : [{ type: 'compaction', compact_threshold: limits.compactAt }],
  });
}

/** Reasoning models answer 400 to any sampling field. */
const samplingOf = ({ sampling }: HubRequest, { capabilities }: UpstreamTarget): JsonObject =>
  capabilities.sampling === 'full' ? compact({ temperature: sampling.temperature, top_p: sampling.topP }) : {};

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

/** Models that do not reason refuse to be asked for encrypted reasoning. */
function includeOf({ capabilities }: UpstreamTarget, tools: readonly JsonObject[]): string[] {
  const include: string[] = [];
  if (capabilities.efforts.length > 0) include.push('reasoning.encrypted_content');
  if (tools.some((tool) => tool.type === 'web_search')) include.push('web_search_call.action.sources');
  return include;
}

/** What this model in particular cannot take. */
function droppedOf(request: HubRequest, job: Job): HubField[] {
  const { sampling, reasoning, tools, system } = request;
  const { capabilities } = job.target;
  const wantsThought = reasoning.mode !== 'off' && (reasoning.mode !== undefined || reasoning.effort !== undefined);
  const marked = job.marks.length > 0 || system.some((part) => part.cache);
  const lost: Partial<Record<HubField, boolean>> = {
    temperature: capabilities.sampling === 'none' && sampling.temperature !== undefined,
    topP: capabilities.sampling === 'none' && sampling.topP !== undefined,
    reasoning: wantsThought && capabilities.efforts.length === 0,
    hostedTools: leavesOut(offeredTools(request), job),
    // Tools have no place for a mark here, whatever the model takes.
    cacheBreakpoints: tools.some((tool) => tool.cache) || (marked && !capabilities.explicitCache),
  };
  return (Object.keys(lost) as HubField[]).filter((field) => lost[field]);
}
