/**
 * Request encoder for Converse. Its turns are those of the Messages API; what
 * only some families have goes into `additionalModelRequestFields`.
 */
import { addBreakpoints, limitBreakpoints, type Prompt } from '../../claude/cache-breakpoints.ts';
import { constrainSchema } from '../../claude/constrain-schema.ts';
import { textBlock } from '../../claude/encode-content.ts';
import { encodeMessages, type MessageTurn, type TurnForms } from '../../claude/encode-messages.ts';
import { encodeThinkingSettings, lacksThinking, losesSummary, maxTokensFor } from '../../claude/encode-thinking.ts';
import type { EncodedRequest, UpstreamTarget } from '../../codec.ts';
import { formatInstruction } from '../../encoding/texts.ts';
import { encodeThinking } from '../../encoding/thinking-field.ts';
import { effectiveRequest } from '../../hub/effective-request.ts';
import type { HubField, RequestSection } from '../../hub/fields.ts';
import type { HubFormat, HubRequest, JsonObject } from '../../hub/types.ts';
import { mapToolNames } from '../../tools/names.ts';
import { compact } from '../../wire/read.ts';
import { UPSTREAM_TIERS } from '../../wire/service-tiers.ts';
import { encodeBlocks } from './encode-blocks.ts';
import { partBlocks } from './encode-content.ts';
import { encodeTools } from './encode-tools.ts';

type Dropped = Set<HubField | RequestSection>;

export function encodeRequest(original: HubRequest, target: UpstreamTarget): EncodedRequest {
  const request = effectiveRequest(original);
  const { converseFamily } = target.capabilities;
  const dropped: Dropped = new Set();
  const names = mapToolNames(request, 'converse');
  const { leadingSystem, turns } = encodeMessages(request.items, target, names, formsFor(target));
  const { tools, choice } = encodeTools(request, target, names, dropped);
  const { outputConfig, instruction } = encodeOutput(request.output.format, target, dropped);
  const system = [...request.system, ...leadingSystem, ...(instruction === undefined ? [] : [{ text: instruction }])]
    .map((part) => textBlock(part.text, 'cache' in part ? part.cache : undefined))
    .filter((block) => block !== undefined);
  placeBreakpoints(request, { tools, system, turns }, target, dropped);
  const stop = (request.sampling.stop ?? []).filter((text) => target.capabilities.stop && /\S/.test(text));
  const { maxTokens, extra } = encodeReasoning(request, target, { isForced: choice !== undefined, turns }, dropped);
  const sampling = encodeSampling(request, target, extra, dropped);
  const inferenceConfig = compact({ maxTokens, ...sampling.config, stopSequences: stop.length > 0 ? stop : undefined });
  const fields = { ...extra, ...sampling.extra };
  return {
    body: compact({
      messages: turns.map(({ role, blocks }) => ({ role, content: encodeBlocks(blocks) })),
      system: system.length > 0 ? encodeBlocks(system) : undefined,
      inferenceConfig: nonEmpty(inferenceConfig),
      toolConfig: tools.length > 0 ? compact({ tools: encodeBlocks(tools), toolChoice: choice }) : undefined,
      additionalModelRequestFields: nonEmpty(fields),
      // The reply names the sequence that ended it only when it is asked to.
      additionalModelResponseFieldPaths:
        stop.length > 0 && converseFamily === 'anthropic' ? ['/stop_sequence'] : undefined,
      outputConfig,
      requestMetadata: encodeMetadata(request, dropped),
      serviceTier: tierOf(request),
    }),
    headers: {},
    droppedFields: [...dropped],
    names: names.originals,
    emulateStop: (request.sampling.stop ?? []).filter((text) => !stop.includes(text)),
  };
}

const nonEmpty = <T extends object>(members: T): T | undefined =>
  Object.keys(members).length > 0 ? members : undefined;

const formsFor = ({ capabilities }: UpstreamTarget): TurnForms => ({
  dialect: 'converse',
  parts: partBlocks(capabilities),
  ...(capabilities.reasoningHistory !== 'none' && { unsigned: (thinking) => ({ type: 'thinking', thinking }) }),
});

/**
 * Limits the breakpoints in place. The one of the whole request goes
 * behind its last block; Nova takes none behind tools.
 */
function placeBreakpoints(
  { cache }: HubRequest,
  { tools, system, turns }: Prompt,
  { capabilities: { explicitCache, converseFamily }, marksCache }: UpstreamTarget,
  dropped: Dropped,
): void {
  const last = turns.at(-1)?.blocks.at(-1);
  if (cache.auto && last) last.cache_control ??= { type: 'ephemeral' };
  const isNova = converseFamily === 'nova';
  const onTools = limitBreakpoints([tools], { taken: 0, allowed: explicitCache && !isNova });
  const others = [system, ...turns.map(({ blocks }) => blocks)];
  const left = limitBreakpoints([tools, ...others], { taken: 0, allowed: explicitCache });
  const hasNone = onTools + left === 0;
  if (marksCache && explicitCache && converseFamily === 'anthropic' && hasNone) {
    addBreakpoints({ tools, system, turns });
  }
  if (explicitCache ? isNova && onTools > 0 : !hasNone) dropped.add('cacheBreakpoints');
}

function encodeOutput(
  format: HubFormat,
  target: UpstreamTarget,
  dropped: Dropped,
): { readonly outputConfig?: JsonObject; readonly instruction?: string } {
  if (format.kind === 'schema' && target.capabilities.schemaFormat === 'json_schema') {
    const { schema, name = 'response', description } = format;
    const jsonSchema = compact({ schema: JSON.stringify(constrainSchema(schema)), name, description });
    return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema } } } };
  }
  const instruction = formatInstruction(format, 'none');
  if (instruction === undefined) return {};
  dropped.add('structuredOutput');
  return { instruction };
}

interface ReasoningContext {
  /** The model must call a tool. */
  readonly isForced: boolean;
  readonly turns: readonly MessageTurn[];
}

/** Anthropic's models take a limit that leaves room for their thinking; others keep their own without one. */
function encodeReasoning(
  request: HubRequest,
  target: UpstreamTarget,
  { isForced, turns }: ReasoningContext,
  dropped: Dropped,
): { readonly maxTokens: number | undefined; readonly extra: JsonObject } {
  const { reasoning, limits } = request;
  const { capabilities } = target;
  const maxTokens = maxTokensFor(request, target);
  if (capabilities.converseFamily === 'anthropic') {
    const rejectsBudget = isForced || lacksThinking(turns);
    const settings = encodeThinkingSettings(reasoning, capabilities, { maxTokens, rejectsBudget });
    const { thinking, effort } = settings;
    if (settings.dropped) dropped.add('reasoning');
    else if (losesSummary(reasoning, thinking !== undefined)) dropped.add('reasoningStyle');
    return { maxTokens, extra: compact({ thinking, output_config: effort === undefined ? undefined : { effort } }) };
  }
  const limit = limits.maxOutput === undefined ? undefined : maxTokens;
  // The highest effort of Nova excludes a limit.
  const efforts = capabilities.efforts.filter((effort) => effort !== 'high' || limit === undefined);
  const usable = capabilities.converseFamily === 'nova' ? { ...capabilities, efforts } : capabilities;
  const extra = encodeThinking(reasoning, { ...target, capabilities: usable }, []);
  const isAsked = reasoning.mode !== undefined || reasoning.effort !== undefined;
  const isOff = reasoning.mode === 'off' || reasoning.effort === 'none';
  if (isAsked && !isOff && !nonEmpty(extra)) dropped.add('reasoning');
  else if (losesSummary(reasoning, nonEmpty(extra) !== undefined)) dropped.add('reasoningStyle');
  return { maxTokens: limit, extra };
}

/** Temperatures end at 1. `thinking`: what was asked for excludes sampling. */
function encodeSampling(
  { sampling: { temperature, topP, topK } }: HubRequest,
  { capabilities }: UpstreamTarget,
  { thinking, reasoningConfig }: JsonObject,
  dropped: Dropped,
): { readonly config: JsonObject; readonly extra: JsonObject } {
  const { converseFamily: family } = capabilities;
  const isOn = (setting: unknown): boolean =>
    setting !== undefined && (setting as { type?: string }).type !== 'disabled';
  const isExcluded = capabilities.sampling === 'none' || isOn(thinking) || isHighest(reasoningConfig);
  const put = <T>(field: HubField, value: T | undefined, fits: boolean): T | undefined => {
    if (value !== undefined && (isExcluded || !fits)) dropped.add(field);
    return isExcluded || !fits ? undefined : value;
  };
  const config = compact({
    temperature: put('temperature', temperature && Math.min(temperature, 1), true),
    // Newer models of Anthropic reject one next to the other.
    topP: put('topP', topP, family !== 'anthropic' || temperature === undefined),
  });
  const allowedTopK = put('topK', topK, family !== 'other');
  if (allowedTopK === undefined) return { config, extra: {} };
  return { config, extra: family === 'nova' ? { inferenceConfig: { topK: allowedTopK } } : { top_k: allowedTopK } };
}

const isHighest = (reasoningConfig: unknown): boolean =>
  (reasoningConfig as { maxReasoningEffort?: string } | undefined)?.maxReasoningEffort === 'high';

const MAX_METADATA = 16;
const METADATA = /^[a-zA-Z0-9\s:_@$#=/+,.-]{1,256}$/;

/** For the invocation logs of the AWS account. What these cannot hold is dropped. */
function encodeMetadata({ meta: { metadata } }: HubRequest, dropped: Dropped): JsonObject | undefined {
  if (metadata === undefined) return undefined;
  const fits = Object.entries(metadata).filter((pair) => pair.every((text) => METADATA.test(text)));
  const kept = fits.slice(0, MAX_METADATA);
  if (kept.length < Object.keys(metadata).length) dropped.add('metadata');
  return nonEmpty(Object.fromEntries(kept));
}

function tierOf({ meta }: HubRequest): JsonObject | undefined {
  const type = UPSTREAM_TIERS[meta.serviceTier ?? 'auto'];
  return type && { type };
}
