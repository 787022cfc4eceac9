/**
 * Encoder of a hub request for a chat upstream, by the model's
 * capabilities. Pure. `checkSupport` has handled what no model has.
 */
import type { Capabilities, ChatField } from '../../../rules/index.ts';
import type { EncodedRequest, UpstreamTarget } from '../../codec.ts';
import { encodeSampling, maxOutputFor } from '../../encoding/limits.ts';
import { formatInstruction } from '../../encoding/texts.ts';
import { encodeThinking } from '../../encoding/thinking-field.ts';
import { effectiveRequest } from '../../hub/effective-request.ts';
import { HUB_FIELDS, type HubField, isPresent, type RequestSection } from '../../hub/fields.ts';
import type { HubFormat, HubRequest, JsonObject } from '../../hub/types.ts';
import { mapToolNames } from '../../tools/names.ts';
import { isStrict } from '../../tools/schemas.ts';
import { cacheKeyFor, userTag } from '../../wire/ids.ts';
import { compact } from '../../wire/read.ts';
import { UPSTREAM_TIERS } from '../../wire/service-tiers.ts';
import { fieldNames } from '../fields.ts';
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
    [capabilities.outputLimitField]: maxOutputFor(request, target),
    ...encodeSampling(request, target, SAMPLING, dropped),
    seed: request.sampling.seed,
    logit_bias: request.sampling.logitBias,
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

const SAMPLING = {
  temperature: 'temperature',
  topP: 'top_p',
  presence: 'presence_penalty',
  frequency: 'frequency_penalty',
} as const;

/**
 * The caller's field behind a field of the wire that a server may
 * reject; none where the gateway adds it, or emulates it.
 */
function callerField(name: ChatField): HubField | undefined {
  if (name === 'stop') return undefined;
  if (name === 'strict') return 'strictTools';
  if (name === 'detail') return 'imageDetail';
  return HUB_FIELDS.find((field) => fieldNames[field] === name);
}

/** Leaves out members that the server rejects. Those inside tools and messages are left out by their encoders. */
function withoutRefused(
  body: JsonObject,
  request: HubRequest,
  { capabilities: { refusedFields } }: UpstreamTarget,
  dropped: (HubField | RequestSection)[],
): JsonObject {
  if (refusedFields.length === 0) return body;
  for (const name of refusedFields) {
    const field = callerField(name);
    const isSent = name in body || name === 'strict' || name === 'detail';
    if (field && isSent && isPresent(field, request) && !dropped.includes(field)) dropped.push(field);
  }
  const isRefused = (name: string): boolean => refusedFields.some((refused) => refused === name);
  return Object.fromEntries(Object.entries(body).filter(([name]) => !isRefused(name)));
}

/** Models with full sampling accept up to four sequences here, even if they have no `stop` in the responses dialect. */
function splitStop({ sampling }: HubRequest, { capabilities }: UpstreamTarget) {
  const all = sampling.stop ?? [];
  const isAccepted = !capabilities.refusedFields.includes('stop');
  const max = isAccepted && (capabilities.stop || capabilities.sampling === 'full') ? 4 : 0;
  return { native: all.slice(0, max), emulated: all.slice(max) };
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
