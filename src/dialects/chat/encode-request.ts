/**
 * A hub request for a chat upstream, written for what the model can take. Pure: the same history gives the same bytes. The
 * fate table has already refused and dropped what this dialect never takes.
 */
import type { EncodedRequest, Target } from '../codec.ts';
import type { HubField } from '../fields.ts';
import { EFFORTS, type Effort, type HubFormat, type HubReasoning, type HubRequest, type JsonObject } from '../hub.ts';
import { digest } from '../ids.ts';
import { mapNames } from '../names.ts';
import { compact, isObject, maybeList } from '../read.ts';
import { countMarks, encodeMessages } from './encode-messages.ts';
import { encodeTools } from './encode-tools.ts';

export function encodeRequest(request: HubRequest, target: Target): EncodedRequest {
  const names = mapNames(request, 'chat');
  const dropped: HubField[] = [];
  const { native, emulated } = splitStop(request, target);
  const body = compact({
    model: target.model,
    messages: encodeMessages(request, target, names),
    ...encodeTools(request, target, names),
    response_format: encodeFormat(lastFormat(request)),
    reasoning_effort: encodeEffort(lastReasoning(request), target, dropped),
    verbosity: request.output.verbosity,
    max_completion_tokens: maxOutput(request, target),
    ...encodeSampling(request, target, dropped),
    stop: native.length > 0 ? native : undefined,
    ...encodeMeta(request),
    ...(request.stream && { stream: true, stream_options: { include_usage: true } }),
  });
  if (countMarks(request) > 0 && !target.capabilities.explicitCache) dropped.push('cacheMarks');
  return { body, headers: {}, dropped, names: names.back, emulateStop: emulated };
}

function maxOutput({ limits }: HubRequest, target: Target): number | undefined {
  if (limits.maxOutput === undefined) return undefined;
  return Math.min(limits.maxOutput, target.maxOutput ?? target.capabilities.maxOutput);
}

/** Models with free sampling take `stop` here even though their other dialect has no such field; four at most. */
function splitStop({ sampling }: HubRequest, { capabilities }: Target) {
  const all = sampling.stop ?? [];
  const room = capabilities.stop || capabilities.sampling === 'full' ? 4 : 0;
  return { native: all.slice(0, room), emulated: all.slice(room) };
}

function encodeSampling({ sampling }: HubRequest, { capabilities }: Target, dropped: HubField[]): JsonObject {
  const { seed, logitBias: logit_bias } = sampling;
  const free = {
    temperature: ['temperature', sampling.temperature],
    topP: ['top_p', sampling.topP],
    presencePenalty: ['presence_penalty', sampling.presence],
    frequencyPenalty: ['frequency_penalty', sampling.frequency],
  } as const satisfies Partial<Record<HubField, readonly [string, number | undefined]>>;
  const kept: Record<string, unknown> = {};
  for (const [field, [name, value]] of Object.entries(free)) {
    if (value === undefined) continue;
    if (capabilities.sampling === 'full') kept[name] = value;
    else dropped.push(field as keyof typeof free);
  }
  return compact({ ...kept, seed, logit_bias });
}

// ---------------------------------------------------------------- reasoning

/** A change of settings on the way holds for the whole request; the last one counts. */
const lastReasoning = ({ items, reasoning }: HubRequest): HubReasoning => {
  const change = items.findLast((item) => item.kind === 'config_change' && item.effort !== undefined);
  return change?.kind === 'config_change' && change.effort ? { ...reasoning, effort: change.effort } : reasoning;
};

function encodeEffort(reasoning: HubReasoning, { capabilities }: Target, dropped: HubField[]): string | undefined {
  const wanted = effortOf(reasoning);
  if (!wanted) return undefined;
  const nearest = nearestEffort(wanted, capabilities.efforts);
  // A model that does not reason is off already.
  if (!nearest && wanted !== 'none') dropped.push('reasoning');
  return nearest;
}

function effortOf({ mode, effort, budget }: HubReasoning): Effort | undefined {
  if (mode === 'off') return 'none';
  if (effort) return effort;
  if (mode === 'between_tools') return 'low';
  if (mode !== 'budget' || budget === undefined) return undefined;
  return budget < 4096 ? 'low' : budget < 16_384 ? 'medium' : 'high';
}

/** Never switches thinking off for a request that asked for some; between two equally near ones the cheaper. */
function nearestEffort(wanted: Effort, offered: readonly string[]): Effort | undefined {
  const at = EFFORTS.indexOf(wanted);
  let best: Effort | undefined;
  for (const one of EFFORTS) {
    if (!offered.includes(one) || (one === 'none' && wanted !== 'none')) continue;
    if (!best || Math.abs(EFFORTS.indexOf(one) - at) < Math.abs(EFFORTS.indexOf(best) - at)) best = one;
  }
  return best;
}

// ---------------------------------------------------------------- output

const lastFormat = ({ items, output }: HubRequest): HubFormat => {
  const change = items.findLast((item) => item.kind === 'config_change' && item.format !== undefined);
  return change?.kind === 'config_change' && change.format ? change.format : output.format;
};

function encodeFormat(format: HubFormat): JsonObject | undefined {
  if (format.kind === 'text') return undefined;
  if (format.kind === 'json') return { type: 'json_object' };
  const { schema, description, name = 'response', strict = isStrict(schema) } = format;
  return { type: 'json_schema', json_schema: compact({ name, description, schema, strict }) };
}

/** Strict mode asks that every object is closed and every property required; a client that did not say gets it where it works. */
function isStrict(schema: unknown, depth = 0): boolean {
  if (!isObject(schema) || depth > 32) return false;
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = maybeList(schema.required);
  const closed =
    schema.additionalProperties === false && Object.keys(properties).every((name) => required.includes(name));
  if ((schema.type === 'object' || isObject(schema.properties)) && !closed) return false;
  const inner = [
    ...Object.values(properties),
    ...Object.values(isObject(schema.$defs) ? schema.$defs : {}),
    ...maybeList(schema.anyOf),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return inner.every((one) => isStrict(one, depth + 1));
}

// ---------------------------------------------------------------- around the conversation

const TIERS = { auto: undefined, standard: 'default', priority: 'priority', flex: 'flex' } as const;
/** What the provider takes in its two identifying fields. */
const MAX_ID = 64;

function encodeMeta({ meta, cache, session }: HubRequest): JsonObject {
  const key = cache.key ?? session;
  return compact({
    prompt_cache_key: key !== undefined && key.length > MAX_ID ? digest(key, 32) : key,
    safety_identifier: meta.userId === undefined ? undefined : digest(meta.userId, 32),
    service_tier: meta.serviceTier && TIERS[meta.serviceTier],
  });
}
