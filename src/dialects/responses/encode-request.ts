/**
 * A request for an upstream of this dialect. Nothing is stored there, and encrypted reasoning is always asked for, since the
 * client carries the state. Pure: the same conversation gives the same bytes, which prompt caches depend on.
 */
import { fail } from '../../core/index.ts';
import type { EncodedRequest, Target } from '../codec.ts';
import type { HubField } from '../fields.ts';
import type { HubMeta, HubRequest, HubText, JsonObject } from '../hub.ts';
import { digest } from '../ids.ts';
import { mapNames } from '../names.ts';
import { compact } from '../read.ts';
import { encodeInput, setMarks } from './encode-content.ts';
import { encodeItems, type Job } from './encode-items.ts';
import { encodeFormat, encodeReasoning } from './encode-settings.ts';
import { encodeToolChoice, encodeTools } from './encode-tools.ts';

export function encodeRequest(request: HubRequest, target: Target): EncodedRequest {
  refusePrefill(request, target);
  const names = mapNames(request, 'responses');
  const job: Job = { request, target, names, marks: [], calls: new Map() };
  const system = encodeSystem(job);
  const input = [...system.items, ...encodeItems(job)];
  if (target.capabilities.explicitCache) setMarks(job.marks);
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
    prompt_cache_key: keyOf(request.cache.key ?? request.session),
    prompt_cache_options: request.limits.prewarm ? { prewarm: true } : undefined,
    include: includeOf(request, target, tools),
    store: false,
    stream: request.stream,
  });
  return {
    body,
    headers: {},
    dropped: droppedOf(request, job),
    names: new Map([...names.back].filter(([, tool]) => tool.namespace === undefined)),
    emulateStop: request.sampling.stop ?? [],
  };
}

function refusePrefill({ items }: HubRequest, { capabilities }: Target): void {
  const last = items.at(-1);
  if (capabilities.prefill || last?.kind !== 'message' || last.role !== 'assistant') return;
  throw fail(
    'invalid_request',
    'This model does not support assistant message prefill. The conversation must end with a user message.',
  );
}

/** An attribution line that one client writes ahead of its instructions; it changes from call to call and would spoil the cache. */
const BILLING_LINE = 'x-anthropic-billing-header:';

/** Instructions as one text, or as a developer message where cache marks inside them can be kept. */
function encodeSystem(job: Job): { instructions?: string; items: JsonObject[] } {
  const isBilling = (part: HubText, index: number) => index === 0 && part.text.startsWith(BILLING_LINE);
  const parts = job.request.system.filter((part, index) => part.text !== '' && !isBilling(part, index));
  if (parts.length === 0) return { items: [] };
  if (job.target.capabilities.explicitCache && parts.some((part) => part.cache)) {
    return { items: [{ type: 'message', role: 'developer', content: encodeInput(parts, job.marks) }] };
  }
  return { instructions: parts.map((part) => part.text).join('\n\n'), items: [] };
}

/** The API refuses less than 16. */
const MIN_OUTPUT = 16;

function limitsOf({ limits }: HubRequest, target: Target): JsonObject {
  const most = target.maxOutput ?? target.capabilities.maxOutput;
  const wanted = limits.prewarm ? undefined : limits.maxOutput;
  return compact({
    max_output_tokens: wanted === undefined ? undefined : Math.max(MIN_OUTPUT, Math.min(wanted, most)),
    max_tool_calls: limits.maxToolCalls,
  });
}

/** Reasoning models answer 400 to any sampling field. */
function samplingOf({ sampling }: HubRequest, { capabilities }: Target): JsonObject {
  const asked = sampling.logprobs === true || (sampling.topLogprobs ?? 0) > 0;
  const free = capabilities.sampling === 'full';
  return compact({
    temperature: free ? sampling.temperature : undefined,
    top_p: free ? sampling.topP : undefined,
    top_logprobs: asked ? sampling.topLogprobs : undefined,
  });
}

function textOf({ output }: HubRequest): JsonObject | undefined {
  const format = output.format.kind === 'text' ? undefined : encodeFormat(output.format);
  return format || output.verbosity ? compact({ format, verbosity: output.verbosity }) : undefined;
}

const TIERS = { auto: undefined, standard: 'default', priority: 'priority', flex: 'flex' } as const satisfies Record<
  NonNullable<HubMeta['serviceTier']>,
  string | undefined
>;

/** The caller's user id is hashed: the account upstream is shared, and the field takes 64 characters. */
function metaOf(meta: HubMeta): JsonObject {
  return compact({
    metadata: meta.metadata,
    service_tier: TIERS[meta.serviceTier ?? 'auto'],
    safety_identifier: meta.userId === undefined ? undefined : digest(meta.userId, 40),
  });
}

const MAX_KEY = 64;
const keyOf = (key: string | undefined): string | undefined =>
  key === undefined || key.length <= MAX_KEY ? key || undefined : digest(key, 40);

/** Models that do not reason refuse to be asked for encrypted reasoning. */
function includeOf({ sampling }: HubRequest, { capabilities }: Target, tools: readonly JsonObject[]): string[] {
  const include: string[] = [];
  if (capabilities.efforts.length > 0) include.push('reasoning.encrypted_content');
  if (sampling.logprobs || (sampling.topLogprobs ?? 0) > 0) include.push('message.output_text.logprobs');
  if (tools.some((tool) => tool.type === 'web_search')) include.push('web_search_call.action.sources');
  return include;
}

/** What this model in particular cannot take. */
function droppedOf({ sampling, reasoning, tools, system }: HubRequest, { target, marks }: Job): HubField[] {
  const { capabilities } = target;
  const wantsThought = reasoning.mode !== 'off' && (reasoning.mode !== undefined || reasoning.effort !== undefined);
  const marked = marks.length > 0 || system.some((part) => part.cache);
  const lost: Partial<Record<HubField, boolean>> = {
    temperature: capabilities.sampling === 'none' && sampling.temperature !== undefined,
    topP: capabilities.sampling === 'none' && sampling.topP !== undefined,
    reasoning: wantsThought && capabilities.efforts.length === 0,
    // Tools have no place for a mark here, whatever the model takes.
    cacheMarks: tools.some((tool) => tool.cache) || (marked && !capabilities.explicitCache),
  };
  return (Object.keys(lost) as HubField[]).filter((field) => lost[field]);
}
