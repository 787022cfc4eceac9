/** Encoder of a hub request for a chat upstream, by the model's capabilities. Pure. `checkSupport` has handled what no model has. */
import type { Capabilities, ChatField } from '../../../rules/index.ts';
import type { EncodedRequest, UpstreamTarget } from '../../codec.ts';
import { formatInstruction } from '../../encoding/texts.ts';
import { encodeThinking } from '../../encoding/thinking-field.ts';
import { effectiveRequest } from '../../hub/effective-request.ts';
import { type HubField, isPresent, type RequestSection } from '../../hub/fields.ts';
import type { HubFormat, HubRequest, JsonObject } from '../../hub/types.ts';
import { mapToolNames } from '../../tools/names.ts';
import { isStrict } from '../../tools/schemas.ts';
import { cacheKeyFor, userTag } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { UPSTREAM_TIERS } from '../../wire/service-tiers.ts';
import { encodeMessages, losesBreakpoint } from './encode-messages.ts';
import { encodeTools } from './encode-tools.ts';

export function encodeRequest(original: HubRequest, target: UpstreamTarget): EncodedRequest {
  const request = effectiveRequest(original);
  const { capabilities } = target;
  const names = mapToolNames(request, 'chat');
  const dropped: (HubField | RequestSection)[] = [];
  const { native, emulated } = splitStop(request, target);
  const { format } = request.output;
  const instruction = formatInstruction(format, capabilities.schemaFormat);
  if (instruction !== undefined) dropped.push('structuredOutput');
  const { members: tools, droppedSearchOptions } = encodeTools(request, target, names, dropped);
  const body = compact({
    model: target.model,
    messages: encodeMessages(withInstruction(request, instruction), target, names),
    ...tools,
    response_format: encodeFormat(format, capabilities.schemaFormat),
    ...encodeThinking(request.reasoning, target, dropped),
    verbosity: request.output.verbosity,
    [capabilities.outputLimitField]: maxOutput(request, target),
    ...encodeSampling(request, target, dropped),
    stop: native.length > 0 ? native : undefined,
    ...encodeMeta(request),
    ...(request.stream && { stream: true, stream_options: { include_usage: true } }),
  });
  if (losesBreakpoint(request, capabilities.explicitCache)) dropped.push('cacheBreakpoints');
  const accepted = withoutRefused(body, request, target, dropped);
  return {
    body: accepted,
    headers: {},
    droppedFields: dropped,
    ...(droppedSearchOptions.length > 0 && { droppedSearchOptions }),
    names: names.originals,
    emulateStop: emulated,
  };
}

/** The caller's field behind each field of the wire that a server may reject; none where the gateway adds it. */
const CALLER_FIELD: Readonly<Record<ChatField, HubField | undefined>> = {
  temperature: 'temperature',
  top_p: 'topP',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  seed: 'seed',
  logit_bias: 'logitBias',
  // Emulated.
  stop: undefined,
  parallel_tool_calls: 'parallelTools',
  strict: 'strictTools',
  verbosity: 'verbosity',
  prompt_cache_key: 'cacheKey',
  safety_identifier: 'userId',
  service_tier: 'serviceTier',
  web_search_options: 'hostedTools',
  stream_options: undefined,
  detail: 'imageDetail',
};

/** Leaves out members that the server rejects. Those inside tools and messages are left out by their encoders. */
function withoutRefused(
  body: JsonObject,
  request: HubRequest,
  { capabilities: { refusedFields } }: UpstreamTarget,
  dropped: (HubField | RequestSection)[],
): JsonObject {
  if (refusedFields.length === 0) return body;
  for (const name of refusedFields) {
    const field = CALLER_FIELD[name];
    const isSent = name in body || name === 'strict' || name === 'detail';
    if (field && isSent && isPresent(field, request) && !dropped.includes(field)) dropped.push(field);
  }
  const isRefused = (name: string): boolean => refusedFields.some((refused) => refused === name);
  return Object.fromEntries(Object.entries(body).filter(([name]) => !isRefused(name)));
}

function maxOutput({ limits }: HubRequest, target: UpstreamTarget): number | undefined {
  if (limits.maxOutput === undefined) return undefined;
  return Math.min(limits.maxOutput, target.maxOutput ?? target.capabilities.maxOutput);
}

/** Models with full sampling accept up to four sequences here, even if they have no `stop` in the responses dialect. */
function splitStop({ sampling }: HubRequest, { capabilities }: UpstreamTarget) {
  const all = sampling.stop ?? [];
  const isAccepted = !capabilities.refusedFields.includes('stop');
  const max = isAccepted && (capabilities.stop || capabilities.sampling === 'full') ? 4 : 0;
  return { native: all.slice(0, max), emulated: all.slice(max) };
}

function encodeSampling(
  { sampling }: HubRequest,
  { capabilities }: UpstreamTarget,
  dropped: (HubField | RequestSection)[],
): JsonObject {
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

function encodeFormat(format: HubFormat, schemaFormat: Capabilities['schemaFormat']): JsonObject | undefined {
  if (format.kind === 'text' || schemaFormat === 'none') return undefined;
  if (format.kind === 'json' || schemaFormat === 'json_object') return { type: 'json_object' };
  const { schema, description, name = 'response', strict = isStrict(schema) } = format;
  return { type: 'json_schema', json_schema: compact({ name, description, schema, strict }) };
}

const withInstruction = (request: HubRequest, text: string | undefined): HubRequest =>
  text === undefined ? request : { ...request, system: [...request.system, { kind: 'text', text }] };

function encodeMeta({ meta, cache, session }: HubRequest): JsonObject {
  return compact({
    prompt_cache_key: cacheKeyFor(cache.key ?? session),
    safety_identifier: meta.userId === undefined ? undefined : userTag(meta.userId),
    service_tier: UPSTREAM_TIERS[meta.serviceTier ?? 'auto'],
  });
}
