/**
 * Decoder of a chat client's request. Rejects invalid values with their
 * path, and collects unknown fields for `x-gateway-dropped`.
 */
import type { ClientRequestHead } from '../../codec.ts';
import type * as hub from '../../hub/types.ts';
import { readEffort } from '../../wire/efforts.ts';
import { unreadMembers } from '../../wire/members.ts';
import { readMeta } from '../../wire/openai-request.ts';
import * as wire from '../../wire/read.ts';
import { readStringOrList } from './decode-content.ts';
import { readMessages, thoughtNames } from './decode-messages.ts';
import { readToolSettings } from './decode-tools.ts';
import type { ChatClientOptions } from './delta-writer.ts';
import { MEMBERS } from './members.ts';

export function decodeRequest(value: unknown, head: ClientRequestHead): hub.HubRequest {
  const body = wire.needObject(value, 'body');
  const { system, items } = readMessages(body.messages);
  if (wire.isGiven(body.moderation))
    wire.unsupported('moderation', 'moderation is not supported in a converted request.');
  const key = wire.optional(body, 'prompt_cache_key', wire.needString);
  return wire.compact({
    dialect: 'chat' as const,
    model: head.model ?? readModel(body),
    stream: head.stream ?? wire.optional(body, 'stream', wire.readBoolean) ?? false,
    system,
    items,
    ...readToolSettings(body),
    reasoning: readReasoning(body),
    output: readOutput(body),
    limits: readLimits(body),
    sampling: readSampling(body),
    cache: wire.compact({ key }),
    state: wire.compact({ store: wire.optional(body, 'store', wire.readBoolean) }),
    meta: readMeta(body),
    session: key,
    unknown: unknownFields(body),
    clientOptions: readClientOptions(body),
    fieldNames: givenNames(body),
  });
}

/** Fields that this client sends under names which are not official. */
function givenNames(body: hub.JsonObject): hub.HubRequest['fieldNames'] {
  const hosted = hasHostedTypes(body) ? (['tools'] as const) : undefined;
  const names: hub.GivenNames = wire.compact({
    reasoning:
      wire.isGiven(body.reasoning) && !wire.isGiven(body.reasoning_effort) ? (['reasoning'] as const) : undefined,
    cacheBreakpoints: usesCacheControl(body) ? (['cache_control'] as const) : undefined,
    thoughts: thoughtNames(body.messages),
    hostedTools: hosted,
    searchTool: hosted,
  });
  return Object.keys(names).length > 0 ? names : undefined;
}

const hasHostedTypes = ({ tools, web_search_options }: hub.JsonObject): boolean =>
  !wire.isGiven(web_search_options) &&
  wire.maybeList(tools).some((tool) => !OWN_TYPE.test(wire.maybeString(wire.maybeObject(tool).type) ?? 'function'));
const OWN_TYPE = /^(?:function|custom|image_generation)$/;

const usesCacheControl = ({ messages, tools }: hub.JsonObject): boolean =>
  [...wire.maybeList(tools), ...wire.maybeList(messages).flatMap((message) => wire.maybeObject(message).content)].some(
    (holder) => wire.isGiven(wire.maybeObject(holder).cache_control),
  );

function readModel(body: hub.JsonObject): string {
  return wire.needString(body.model, 'model') || wire.wrongValue('model', 'must not be empty.');
}

/**
 * Asks for summaries, shown as `reasoning_content`, unless off or hidden.
 * Aggregators send `reasoning` instead of the official field.
 */
function readReasoning(body: hub.JsonObject): hub.HubRequest['reasoning'] {
  const other = wire.optional(body, 'reasoning', wire.needObject) ?? {};
  const effort =
    body.reasoning_effort === 'default'
      ? undefined
      : (wire.optional(body, 'reasoning_effort', readEffort) ??
        wire.optional(other, 'effort', readEffort, 'reasoning'));
  const budget = wire.optional(other, 'max_tokens', wire.readCount, 'reasoning');
  const enabled = wire.optional(other, 'enabled', wire.readBoolean, 'reasoning');
  if (effort === 'none' || enabled === false || budget === 0) return { mode: 'off', effort: 'none', show: 'none' };
  const mode = enabled && effort === undefined ? ('auto' as const) : undefined;
  return wire.compact({
    mode: budget === undefined ? mode : ('budget' as const),
    effort,
    budget,
    show: hidesReasoning(body) ? ('none' as const) : ('summary' as const),
  });
}

const hidesReasoning = (body: hub.JsonObject): boolean =>
  body.reasoning_format === 'hidden' ||
  body.include_reasoning === false ||
  (wire.isObject(body.reasoning) && body.reasoning.exclude === true);

function readOutput(body: hub.JsonObject): hub.HubOutput {
  const modalities = wire.optional(body, 'modalities', wire.needList);
  return wire.compact({
    format: readFormat(body),
    verbosity: wire.optional(body, 'verbosity', wire.needString),
    modalities: modalities?.map((one, n) => wire.oneOf(['text', 'image', 'audio'] as const)(one, `modalities[${n}]`)),
    image: readImageConfig(body),
  });
}

/** Not official: the form in which aggregators of image models accept it. */
function readImageConfig(body: hub.JsonObject): hub.HubImageSettings | undefined {
  const config = wire.optional(body, 'image_config', wire.needObject) ?? {};
  const settings = wire.compact({
    aspectRatio: wire.optional(config, 'aspect_ratio', wire.needString, 'image_config'),
    tier: wire.optional(config, 'image_size', wire.needString, 'image_config'),
  });
  return Object.keys(settings).length > 0 ? settings : undefined;
}

function readFormat(body: hub.JsonObject): hub.HubFormat {
  const format = wire.optional(body, 'response_format', wire.needObject);
  if (!format) return { kind: 'text' };
  const type = wire.oneOf(['text', 'json_object', 'json_schema'])(format.type, 'response_format.type');
  if (type === 'text') return { kind: 'text' };
  if (type === 'json_object') return { kind: 'json' };
  const path = 'response_format.json_schema';
  const named = wire.needObject(format.json_schema, path);
  return wire.compact({
    kind: 'schema' as const,
    schema: wire.optional(named, 'schema', wire.needObject, path) ?? { type: 'object' },
    name: wire.optional(named, 'name', wire.needString, path),
    strict: wire.optional(named, 'strict', wire.readBoolean, path),
    description: wire.optional(named, 'description', wire.needString, path),
  });
}

function readLimits(body: hub.JsonObject): hub.HubRequest['limits'] {
  const name = wire.isGiven(body.max_completion_tokens) ? 'max_completion_tokens' : 'max_tokens';
  const maxOutput = wire.optional(body, name, wire.readCount);
  if (maxOutput === 0) wire.wrongValue(name, 'must be at least 1.');
  return wire.compact({ maxOutput });
}

const wholeNumber =
  (min: number, max: number) =>
  (value: unknown, path: string): number =>
    wire.between(min, max)(wire.readCount(value, path), path);

function readSampling(body: hub.JsonObject): hub.HubSampling {
  return wire.compact({
    temperature: wire.optional(body, 'temperature', wire.between(0, 2)),
    topP: wire.optional(body, 'top_p', wire.between(0, 1)),
    seed: wire.optional(body, 'seed', wire.readNumber),
    presence: wire.optional(body, 'presence_penalty', wire.between(-2, 2)),
    frequency: wire.optional(body, 'frequency_penalty', wire.between(-2, 2)),
    logitBias: wire.optional(body, 'logit_bias', readBias),
    n: wire.optional(body, 'n', wholeNumber(1, 128)),
    logprobs: wire.optional(body, 'logprobs', wire.readBoolean),
    topLogprobs: wire.optional(body, 'top_logprobs', wholeNumber(0, 20)),
    stop: wire.optional(body, 'stop', readStop),
  });
}

/** Returns undefined for an empty object, which biases nothing. */
function readBias(value: unknown, path: string): Readonly<Record<string, number>> | undefined {
  const entries = Object.entries(wire.needObject(value, path));
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map(([token, bias]) => [token, wire.between(-100, 100)(bias, `${path}.${token}`)]));
}

function readStop(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'string' && !Array.isArray(value))
    return wire.wrongType(path, 'a string or an array of strings', value);
  const sequences = readStringOrList(value, path);
  if (sequences.length > 4) wire.wrongValue(path, 'at most 4 stop sequences are allowed.');
  return sequences.includes('') ? wire.wrongValue(path, 'a stop sequence must not be empty.') : sequences;
}

function readClientOptions(body: hub.JsonObject): ChatClientOptions {
  const options = wire.optional(body, 'stream_options', wire.needObject);
  return wire.compact({
    usageChunk: options && wire.optional(options, 'include_usage', wire.readBoolean, 'stream_options'),
    logprobs: wire.optional(body, 'logprobs', wire.readBoolean),
    thoughts: hidesReasoning(body) ? false : undefined,
    functions: wire.isGiven(body.functions) || undefined,
  });
}

/** `store` would keep the conversation at the provider, and `scale` would use capacity that the caller bought there. */
function unknownFields(body: hub.JsonObject): readonly string[] {
  const names = unreadMembers(body, MEMBERS);
  if (body.store === true) names.push('store');
  if (body.service_tier === 'scale') names.push('service_tier');
  // The reasoning inside of the text, between tags.
  if (body.reasoning_format === 'raw') names.push('reasoning_format');
  return names;
}
