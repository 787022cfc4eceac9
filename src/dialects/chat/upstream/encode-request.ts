/**
 * Encoder of a hub request for a chat upstream, according to the model's capabilities. Pure: the same history gives the same
 * bytes. Runs after `checkSupport`, which handles fields that no chat model supports.
 */
import type { EncodedRequest, UpstreamTarget } from '../../codec.ts';
import { effectiveRequest } from '../../hub/effective-request.ts';
import type { HubField } from '../../hub/fields.ts';
import type { Effort, HubFormat, HubReasoning, HubRequest, JsonObject } from '../../hub/types.ts';
import { mapToolNames } from '../../tools/names.ts';
import { isStrict } from '../../tools/strict-schema.ts';
import { effortOfBudget, nearestEffort } from '../../wire/efforts.ts';
import { cacheKeyFor, userTag } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { UPSTREAM_TIERS } from '../../wire/service-tiers.ts';
import { countBreakpoints, encodeMessages } from './encode-messages.ts';
import { encodeTools } from './encode-tools.ts';

export function encodeRequest(original: HubRequest, target: UpstreamTarget): EncodedRequest {
  const request = effectiveRequest(original);
  const names = mapToolNames(request, 'chat');
  const dropped: HubField[] = [];
  const { native, emulated } = splitStop(request, target);
  const body = compact({
    model: target.model,
    messages: encodeMessages(request, target, names),
    ...encodeTools(request, target, names, dropped),
    response_format: encodeFormat(request.output.format),
    reasoning_effort: encodeEffort(request.reasoning, target, dropped),
    verbosity: request.output.verbosity,
    max_completion_tokens: maxOutput(request, target),
    ...encodeSampling(request, target, dropped),
    stop: native.length > 0 ? native : undefined,
    ...encodeMeta(request),
    ...(request.stream && { stream: true, stream_options: { include_usage: true } }),
  });
  if (countBreakpoints(request) > 0 && !target.capabilities.explicitCache) dropped.push('cacheBreakpoints');
  return { body, headers: {}, droppedFields: dropped, names: names.originals, emulateStop: emulated };
}

function maxOutput({ limits }: HubRequest, target: UpstreamTarget): number | undefined {
  if (limits.maxOutput === undefined) return undefined;
  return Math.min(limits.maxOutput, target.maxOutput ?? target.capabilities.maxOutput);
}

/** Models with full sampling accept up to four sequences here, even if they have no `stop` in the responses dialect. */
function splitStop({ sampling }: HubRequest, { capabilities }: UpstreamTarget) {
  const all = sampling.stop ?? [];
  const max = capabilities.stop || capabilities.sampling === 'full' ? 4 : 0;
  return { native: all.slice(0, max), emulated: all.slice(max) };
}

function encodeSampling({ sampling }: HubRequest, { capabilities }: UpstreamTarget, dropped: HubField[]): JsonObject {
  const { seed, logitBias: logit_bias } = sampling;
  const fields = {
    temperature: ['temperature', sampling.temperature],
    topP: ['top_p', sampling.topP],
    presencePenalty: ['presence_penalty', sampling.presence],
    frequencyPenalty: ['frequency_penalty', sampling.frequency],
  } as const satisfies Partial<Record<HubField, readonly [string, number | undefined]>>;
  const kept: Record<string, unknown> = {};
  for (const [field, [name, value]] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (capabilities.sampling === 'full') kept[name] = value;
    else dropped.push(field as keyof typeof fields);
  }
  return compact({ ...kept, seed, logit_bias });
}

// ---------------------------------------------------------------- reasoning

function encodeEffort(
  reasoning: HubReasoning,
  { capabilities }: UpstreamTarget,
  dropped: HubField[],
): string | undefined {
  const requested = effortOf(reasoning);
  if (!requested) return undefined;
  const nearest = nearestEffort(requested, capabilities.efforts);
  // Nothing is dropped when `none` is requested of a model that does not reason.
  if (!nearest && requested !== 'none') dropped.push('reasoning');
  return nearest;
}

function effortOf({ mode, effort, budget }: HubReasoning): Effort | undefined {
  if (mode === 'off') return 'none';
  if (effort) return effort;
  if (mode === 'between_tools') return 'low';
  return mode === 'budget' && budget !== undefined ? effortOfBudget(budget) : undefined;
}

// ---------------------------------------------------------------- output

function encodeFormat(format: HubFormat): JsonObject | undefined {
  if (format.kind === 'text') return undefined;
  if (format.kind === 'json') return { type: 'json_object' };
  const { schema, description, name = 'response', strict = isStrict(schema) } = format;
  return { type: 'json_schema', json_schema: compact({ name, description, schema, strict }) };
}

// ---------------------------------------------------------------- metadata

function encodeMeta({ meta, cache, session }: HubRequest): JsonObject {
  return compact({
    prompt_cache_key: cacheKeyFor(cache.key ?? session),
    safety_identifier: meta.userId === undefined ? undefined : userTag(meta.userId),
    service_tier: UPSTREAM_TIERS[meta.serviceTier ?? 'auto'],
  });
}
