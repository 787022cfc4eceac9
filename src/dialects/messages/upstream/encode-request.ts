/**
 * A hub request written for a messages upstream and one model of it. Pure: the same history always gives the same bytes, so
 * that prompt caches and the provider's binding of thinking to its prefix hold. What the model cannot take is reported.
 */
import type { EncodedRequest, UpstreamTarget } from '../../codec.ts';
import { effectiveRequest } from '../../hub/effective-request.ts';
import type { HubField } from '../../hub/fields.ts';
import type { HubRequest, HubSampling, JsonObject } from '../../hub/types.ts';
import { mapNames } from '../../tools/names.ts';
import { userTag } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { placeBreakpoints } from './cache-breakpoints.ts';
import { constrainSchema } from './constrain-schema.ts';
import { type Block, textBlock } from './encode-content.ts';
import { encodeMessages, isThinking, type Turn } from './encode-messages.ts';
import { encodeThinkingSettings, type Thinking } from './encode-thinking.ts';
import { type EncodedTools, encodeTools } from './encode-tools.ts';

export function encodeRequest(original: HubRequest, target: UpstreamTarget): EncodedRequest {
  const request = effectiveRequest(original);
  const dropped = new Set<HubField>();
  const names = mapNames(request, 'messages');
  const { lead, turns } = encodeMessages(request.items, target, names);
  const tools = encodeTools(request, names);
  const system = encodeSystem(request, lead);
  const stop = splitStop(request.sampling.stop ?? [], target);
  const cache = encodeCache(request, [tools.tools, system, ...turns.map((turn) => turn.blocks)], target, dropped);
  if (tools.unbounded) dropped.add('maxToolCalls');
  if (tools.leftOut) dropped.add('hostedTools');
  if (tools.loosened) dropped.add('strictTools');
  if (request.meta.serviceTier === 'flex') dropped.add('serviceTier');
  return {
    body: compact({
      model: target.model,
      stream: request.stream || undefined,
      system: filled(system),
      tools: filled(tools.tools),
      mcp_servers: filled(tools.mcpServers),
      tool_choice: tools.choice,
      ...encodeLimits(request, target, { budgetRefused: tools.forced || lacksThinking(turns) }, dropped),
      stop_sequences: filled(stop.native),
      service_tier: tierOf(request),
      // The provider wants to tell users apart, not to know them.
      metadata: request.meta.userId === undefined ? undefined : { user_id: userTag(request.meta.userId) },
      cache_control: cache,
      messages: turns.map(({ role, blocks }) => ({ role, content: blocks })),
    }),
    headers: headersFor(tools, turns),
    droppedFields: [...dropped],
    names: names.back,
    emulateStop: stop.rest,
  };
}

const filled = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);

/** The mark for the whole request; those on single blocks are settled in place. */
function encodeCache(
  { cache }: HubRequest,
  groups: readonly (readonly Block[])[],
  target: UpstreamTarget,
  dropped: Set<HubField>,
): Block | undefined {
  const allowed = target.capabilities.explicitCache;
  const marks = placeBreakpoints(groups, { taken: cache.auto ? 1 : 0, allowed });
  if (!allowed && (marks > 0 || cache.auto)) dropped.add('cacheBreakpoints');
  return cache.auto && allowed ? { type: 'ephemeral' } : undefined;
}

/** How long, how thoughtful, how random and in which form the answer may be: these depend on each other. */
function encodeLimits(
  request: HubRequest,
  target: UpstreamTarget,
  room: { budgetRefused: boolean },
  dropped: Set<HubField>,
): Block {
  const maxTokens = maxTokensFor(request, target);
  const thinking = encodeThinkingSettings(request.reasoning, target.capabilities, { maxTokens, ...room });
  if (thinking.dropped) dropped.add('reasoning');
  return {
    max_tokens: maxTokens,
    thinking: thinking.thinking,
    output_config: outputConfig(request, thinking),
    ...encodeSampling(request.sampling, { target, thinks: thinks(thinking) }, dropped),
  };
}

function encodeSystem(request: HubRequest, lead: HubRequest['system']): Block[] {
  const blocks = [...request.system, ...lead]
    .map(({ text, cache }) => textBlock(text, cache))
    .filter((block) => block !== undefined);
  if (request.output.format.kind === 'json') {
    blocks.push({ type: 'text', text: 'Reply with one JSON object and nothing else.' });
  }
  return blocks;
}

/** Above this a call without a stream may outlast every timeout on the way. */
const UNARY_TOKENS = 64_000;

function maxTokensFor({ limits, stream }: HubRequest, target: UpstreamTarget): number {
  if (limits.prewarm) return 0;
  const most = target.maxOutput ?? target.capabilities.maxOutput;
  return Math.min(limits.maxOutput ?? (stream ? most : UNARY_TOKENS), most);
}

/** With a budget, the turn that made the calls being answered must begin with its thinking. */
function lacksThinking(turns: readonly Turn[]): boolean {
  const answered = turns.at(-1)?.blocks[0]?.type === 'tool_result';
  return answered && !isThinking(turns.at(-2)?.blocks[0]);
}

const thinks = ({ thinking }: Thinking): boolean => thinking !== undefined && thinking.type !== 'disabled';

interface SamplingRoom {
  readonly target: UpstreamTarget;
  readonly thinks: boolean;
}

/** Newer models take no sampling at all, none takes it while thinking, and two of the three together are one too many. */
function encodeSampling(sampling: HubSampling, room: SamplingRoom, dropped: Set<HubField>): Block {
  const open = room.target.capabilities.sampling === 'full' && !room.thinks;
  const body: Block = {};
  const put = (field: 'temperature' | 'topP' | 'topK', name: string, value: number | undefined, fits: boolean) => {
    if (value === undefined) return;
    if (fits) body[name] = value;
    else dropped.add(field);
  };
  const { temperature, topP, topK } = sampling;
  put('temperature', 'temperature', temperature && Math.min(temperature, 1), open);
  put('topP', 'top_p', topP, open && temperature === undefined);
  put('topK', 'top_k', topK, open);
  return body;
}

/** Sequences of white space alone are refused by the provider. */
function splitStop(stop: readonly string[], target: UpstreamTarget): { native: string[]; rest: string[] } {
  const fits = (text: string) => target.capabilities.stop && /\S/.test(text);
  return { native: stop.filter(fits), rest: stop.filter((text) => !fits(text)) };
}

function outputConfig({ output }: HubRequest, { effort }: Thinking): Block | undefined {
  const format =
    output.format.kind === 'schema'
      ? { type: 'json_schema', schema: constrainSchema(withType(output.format.schema)) }
      : undefined;
  return effort === undefined && !format ? undefined : compact({ effort, format });
}

/** A schema that says nothing of its type means an object. */
const withType = (schema: JsonObject): JsonObject =>
  TYPED.some((keyword) => schema[keyword] !== undefined) ? schema : { ...schema, type: 'object' };
const TYPED = ['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'enum', 'const'] as const;

const TIERS = { auto: 'auto', standard: 'standard_only', priority: 'auto', flex: 'standard_only' } as const;
const tierOf = ({ meta }: HubRequest): string | undefined => meta.serviceTier && TIERS[meta.serviceTier];

const VERSION = '2023-06-01';
const MCP_BETA = 'mcp-client-2025-11-20';
const COMPACT_BETA = 'compact-2026-01-12';

function headersFor(tools: EncodedTools, turns: readonly Turn[]): Record<string, string> {
  const betas = [
    ...(tools.mcpServers.length > 0 ? [MCP_BETA] : []),
    ...(turns.some((turn) => turn.blocks.some((block) => block.type === 'compaction')) ? [COMPACT_BETA] : []),
  ];
  return { 'anthropic-version': VERSION, ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }) };
}
