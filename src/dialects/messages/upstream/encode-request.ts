/**
 * Request encoder for messages upstreams. The same history gives the
 * same bytes, for prompt caches and signed thinking.
 */
import { TOOL_FORMS } from '../../../rules/index.ts';
import { addBreakpoints, limitBreakpoints, type Prompt } from '../../claude/cache-breakpoints.ts';
import { constrainSchema } from '../../claude/constrain-schema.ts';
import { type Block, textBlock } from '../../claude/encode-content.ts';
import { encodeMessages, type MessageTurn } from '../../claude/encode-messages.ts';
import {
  encodeThinkingSettings,
  lacksThinking,
  losesSummary,
  maxTokensFor,
  type ThinkingSettings,
} from '../../claude/encode-thinking.ts';
import type { EncodedRequest, UpstreamTarget } from '../../codec.ts';
import { effectiveRequest } from '../../hub/effective-request.ts';
import type { HubField } from '../../hub/fields.ts';
import type { HubRequest, HubSampling, JsonObject } from '../../hub/types.ts';
import { mapToolNames } from '../../tools/names.ts';
import { namedSchema } from '../../tools/schemas.ts';
import { userTag } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { type EncodedTools, encodeTools } from './encode-tools.ts';

export function encodeRequest(original: HubRequest, target: UpstreamTarget): EncodedRequest {
  const request = effectiveRequest(original);
  const dropped = new Set<HubField>();
  const names = mapToolNames(request, 'messages');
  const { leadingSystem, turns } = encodeMessages(request.items, target, names);
  const tools = encodeTools(request, names);
  const system = encodeSystem(request, leadingSystem);
  const stop = splitStop(request.sampling.stop ?? [], target);
  const cache = encodeCache(request, { tools: tools.tools, system, turns }, target, dropped);
  if (tools.dropsCallLimit) dropped.add('maxToolCalls');
  if (tools.dropsHosted) dropped.add('hostedTools');
  if (tools.dropsStrict) dropped.add('strictTools');
  if (request.meta.serviceTier === 'flex') dropped.add('serviceTier');
  return {
    body: compact({
      model: target.model,
      stream: request.stream || undefined,
      system: nonEmpty(system),
      tools: nonEmpty(tools.tools),
      mcp_servers: nonEmpty(tools.mcpServers),
      tool_choice: tools.choice,
      ...encodeLimits(request, target, { rejectsBudget: tools.isForced || lacksThinking(turns) }, dropped),
      stop_sequences: nonEmpty(stop.native),
      service_tier: tierOf(request),
      // Hashed: the provider needs to distinguish users, not to identify them.
      metadata: request.meta.userId === undefined ? undefined : { user_id: userTag(request.meta.userId) },
      cache_control: cache,
      context_management: encodeCompaction(request.limits.compactAt),
      messages: turns.map(({ role, blocks }) => ({ role, content: blocks })),
    }),
    headers: headersFor(tools, turns, request.limits.compactAt !== undefined),
    droppedFields: [...dropped],
    ...(tools.droppedSearchOptions.length > 0 && { droppedSearchOptions: tools.droppedSearchOptions }),
    names: names.originals,
    emulateStop: stop.rest,
  };
}

const nonEmpty = <T>(list: readonly T[]): readonly T[] | undefined => (list.length > 0 ? list : undefined);

/** Returns the request-level breakpoint, and limits the breakpoints of single blocks in place. */
function encodeCache(
  { cache }: HubRequest,
  prompt: Prompt,
  target: UpstreamTarget,
  dropped: Set<HubField>,
): Block | undefined {
  const allowed = target.capabilities.explicitCache;
  const groups = [prompt.tools, prompt.system, ...prompt.turns.map((turn) => turn.blocks)];
  const breakpoints = limitBreakpoints(groups, { taken: cache.auto ? 1 : 0, allowed });
  if (target.marksCache && allowed && breakpoints === 0 && !cache.auto) addBreakpoints(prompt);
  if (!allowed && (breakpoints > 0 || cache.auto)) dropped.add('cacheBreakpoints');
  return cache.auto && allowed ? { type: 'ephemeral' } : undefined;
}

/** Length, thinking, sampling and output format, which depend on each other. */
function encodeLimits(
  request: HubRequest,
  target: UpstreamTarget,
  constraints: { rejectsBudget: boolean },
  dropped: Set<HubField>,
): Block {
  const maxTokens = maxTokensFor(request, target);
  const thinking = encodeThinkingSettings(request.reasoning, target.capabilities, { maxTokens, ...constraints });
  if (thinking.dropped) dropped.add('reasoning');
  else if (losesSummary(request.reasoning, thinking.thinking !== undefined)) dropped.add('reasoningStyle');
  return {
    max_tokens: maxTokens,
    thinking: thinking.thinking,
    output_config: outputConfig(request, thinking),
    ...encodeSampling(request.sampling, { target, thinks: thinks(thinking) }, dropped),
  };
}

function encodeSystem(request: HubRequest, leadingSystem: HubRequest['system']): Block[] {
  const blocks = [...request.system, ...leadingSystem]
    .map(({ text, cache }) => textBlock(text, cache))
    .filter((block) => block !== undefined);
  if (request.output.format.kind === 'json') {
    blocks.push({ type: 'text', text: 'Reply with one JSON object and nothing else.' });
  }
  return blocks;
}

const thinks = ({ thinking }: ThinkingSettings): boolean => thinking !== undefined && thinking.type !== 'disabled';

interface SamplingContext {
  readonly target: UpstreamTarget;
  readonly thinks: boolean;
}

/** Newer models reject sampling, all models reject it while thinking, and `top_p` is rejected next to `temperature`. */
function encodeSampling(sampling: HubSampling, context: SamplingContext, dropped: Set<HubField>): Block {
  const isAllowed = context.target.capabilities.sampling === 'full' && !context.thinks;
  const body: Block = {};
  const put = (field: 'temperature' | 'topP' | 'topK', name: string, value: number | undefined, fits: boolean) => {
    if (value === undefined) return;
    if (fits) body[name] = value;
    else dropped.add(field);
  };
  const { temperature, topP, topK } = sampling;
  put('temperature', 'temperature', temperature && Math.min(temperature, 1), isAllowed);
  put('topP', 'top_p', topP, isAllowed && temperature === undefined);
  put('topK', 'top_k', topK, isAllowed);
  return body;
}

/** The gateway emulates blank sequences, which the provider rejects. */
function splitStop(stop: readonly string[], target: UpstreamTarget): { native: string[]; rest: string[] } {
  const fits = (text: string) => target.capabilities.stop && /\S/.test(text);
  return { native: stop.filter(fits), rest: stop.filter((text) => !fits(text)) };
}

function outputConfig({ output }: HubRequest, { effort }: ThinkingSettings): Block | undefined {
  const format =
    output.format.kind === 'schema'
      ? { type: 'json_schema', schema: constrainSchema(withType(namedSchema(output.format))) }
      : undefined;
  return effort === undefined && !format ? undefined : compact({ effort, format });
}

/** A schema without a type describes an object. */
const withType = (schema: JsonObject): JsonObject =>
  TYPE_KEYWORDS.some((keyword) => schema[keyword] !== undefined) ? schema : { ...schema, type: 'object' };
const TYPE_KEYWORDS = ['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'enum', 'const'] as const;

const TIERS = { auto: 'auto', standard: 'standard_only', priority: 'auto', flex: 'standard_only' } as const;
const tierOf = ({ meta }: HubRequest): string | undefined => meta.serviceTier && TIERS[meta.serviceTier];

const VERSION = '2023-06-01';
const COMPUTER_BETA = 'computer-use-2025-01-24';
const MCP_BETA = 'mcp-client-2025-11-20';
const COMPACT_BETA = 'compact-2026-01-12';

/** The provider rejects a lower threshold. */
const MIN_COMPACTION = 50_000;

const encodeCompaction = (threshold: number | undefined): JsonObject | undefined =>
  threshold === undefined
    ? undefined
    : {
        edits: [
          { type: 'compact_20260112', trigger: { type: 'input_tokens', value: Math.max(threshold, MIN_COMPACTION) } },
        ],
      };

function headersFor(tools: EncodedTools, turns: readonly MessageTurn[], compacts: boolean): Record<string, string> {
  const betas = [
    ...(tools.mcpServers.length > 0 ? [MCP_BETA] : []),
    ...(tools.tools.some(({ type }) => type === TOOL_FORMS.computer.forms.messages) ? [COMPUTER_BETA] : []),
    ...(compacts || turns.some((turn) => turn.blocks.some((block) => block.type === 'compaction'))
      ? [COMPACT_BETA]
      : []),
  ];
  return { 'anthropic-version': VERSION, ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }) };
}
