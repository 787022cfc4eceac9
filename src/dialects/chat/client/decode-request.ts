/**
 * Decoder of a chat client's request. Rejects invalid values of known fields with their path, and collects unknown fields for
 * `x-gateway-dropped`.
 */
import type { ClientRequestHead } from '../../codec.ts';
import {
  EFFORTS,
  type GivenNames,
  type HubFormat,
  type HubImageSettings,
  type HubMeta,
  type HubOutput,
  type HubRequest,
  type HubSampling,
  type JsonObject,
} from '../../hub/types.ts';
import { unreadMembers } from '../../wire/members.ts';
import {
  between,
  compact,
  isGiven,
  isObject,
  maybeList,
  maybeObject,
  maybeString,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  readBoolean,
  readCount,
  readNumber,
  readStringMap,
  unsupported,
  wrongType,
  wrongValue,
} from '../../wire/read.ts';
import { CLIENT_TIER_NAMES, CLIENT_TIERS } from '../../wire/service-tiers.ts';
import { readStringOrList } from './decode-content.ts';
import { readMessages, thoughtNames } from './decode-messages.ts';
import { HOSTED_TYPE, readToolSettings } from './decode-tools.ts';
import type { ChatClientOptions } from './delta-writer.ts';
import { MEMBERS } from './members.ts';

export function decodeRequest(value: unknown, head: ClientRequestHead): HubRequest {
  const body = needObject(value, 'body');
  const { system, items } = readMessages(body.messages);
  if (isGiven(body.moderation)) unsupported('moderation', 'moderation is not supported in a converted request.');
  const key = optional(body, 'prompt_cache_key', needString);
  return compact({
    dialect: 'chat' as const,
    model: head.model ?? readModel(body),
    stream: head.stream ?? optional(body, 'stream', readBoolean) ?? false,
    system,
    items,
    ...readToolSettings(body),
    reasoning: readReasoning(body),
    output: readOutput(body),
    limits: readLimits(body),
    sampling: readSampling(body),
    cache: compact({ key }),
    state: compact({ store: optional(body, 'store', readBoolean) }),
    meta: readMeta(body),
    session: key,
    unknown: unknownFields(body),
    clientOptions: readClientOptions(body),
    fieldNames: givenNames(body),
  });
}

/** Fields that this client sends under names which are not official. */
function givenNames(body: JsonObject): HubRequest['fieldNames'] {
  const hosted = hasHostedTypes(body) ? (['tools'] as const) : undefined;
  const names: GivenNames = compact({
    reasoning: isGiven(body.reasoning) && !isGiven(body.reasoning_effort) ? (['reasoning'] as const) : undefined,
    cacheBreakpoints: usesCacheControl(body) ? (['cache_control'] as const) : undefined,
    thoughts: thoughtNames(body.messages),
    hostedTools: hosted,
    searchTool: hosted,
  });
  return Object.keys(names).length > 0 ? names : undefined;
}

const hasHostedTypes = ({ tools, web_search_options }: JsonObject): boolean =>
  !isGiven(web_search_options) &&
  maybeList(tools).some((tool) => HOSTED_TYPE.test(maybeString(maybeObject(tool).type) ?? ''));

const usesCacheControl = ({ messages, tools }: JsonObject): boolean =>
  [...maybeList(tools), ...maybeList(messages).flatMap((message) => maybeObject(message).content)].some((holder) =>
    isGiven(maybeObject(holder).cache_control),
  );

function readModel(body: JsonObject): string {
  return needString(body.model, 'model') || wrongValue('model', 'must not be empty.');
}

/**
 * Requests reasoning summaries, shown as `reasoning_content`, unless reasoning is off or hidden. Aggregators have an object
 * `reasoning` instead of the official field.
 */
function readReasoning(body: JsonObject): HubRequest['reasoning'] {
  const other = optional(body, 'reasoning', needObject) ?? {};
  const effort =
    body.reasoning_effort === 'default'
      ? undefined
      : (optional(body, 'reasoning_effort', oneOf(EFFORTS)) ?? optional(other, 'effort', oneOf(EFFORTS), 'reasoning'));
  const budget = optional(other, 'max_tokens', readCount, 'reasoning');
  const enabled = optional(other, 'enabled', readBoolean, 'reasoning');
  if (effort === 'none' || enabled === false || budget === 0) return { mode: 'off', effort: 'none', show: 'none' };
  const mode =
    budget !== undefined ? ('budget' as const) : enabled && effort === undefined ? ('auto' as const) : undefined;
  return compact({ mode, effort, budget, show: hidesReasoning(body) ? ('none' as const) : ('summary' as const) });
}

const hidesReasoning = (body: JsonObject): boolean =>
  body.reasoning_format === 'hidden' ||
  body.include_reasoning === false ||
  (isObject(body.reasoning) && body.reasoning.exclude === true);

function readOutput(body: JsonObject): HubOutput {
  const modalities = optional(body, 'modalities', needList);
  return compact({
    format: readFormat(body),
    verbosity: optional(body, 'verbosity', oneOf(['low', 'medium', 'high'] as const)),
    modalities: modalities?.map((one, n) => oneOf(['text', 'image', 'audio'] as const)(one, `modalities[${n}]`)),
    image: readImageConfig(body),
  });
}

/** Not official: the form in which aggregators of image models accept it. */
function readImageConfig(body: JsonObject): HubImageSettings | undefined {
  const config = optional(body, 'image_config', needObject) ?? {};
  const settings = compact({
    aspectRatio: optional(config, 'aspect_ratio', needString, 'image_config'),
    tier: optional(config, 'image_size', needString, 'image_config'),
  });
  return Object.keys(settings).length > 0 ? settings : undefined;
}

function readFormat(body: JsonObject): HubFormat {
  const format = optional(body, 'response_format', needObject);
  if (!format) return { kind: 'text' };
  const type = oneOf(['text', 'json_object', 'json_schema'])(format.type, 'response_format.type');
  if (type === 'text') return { kind: 'text' };
  if (type === 'json_object') return { kind: 'json' };
  const path = 'response_format.json_schema';
  const wire = needObject(format.json_schema, path);
  return compact({
    kind: 'schema' as const,
    schema: optional(wire, 'schema', needObject, path) ?? { type: 'object' },
    name: optional(wire, 'name', needString, path),
    strict: optional(wire, 'strict', readBoolean, path),
    description: optional(wire, 'description', needString, path),
  });
}

function readLimits(body: JsonObject): HubRequest['limits'] {
  const name = isGiven(body.max_completion_tokens) ? 'max_completion_tokens' : 'max_tokens';
  const maxOutput = optional(body, name, readCount);
  if (maxOutput === 0) wrongValue(name, 'must be at least 1.');
  return compact({ maxOutput });
}

const wholeNumber =
  (min: number, max: number) =>
  (value: unknown, path: string): number =>
    between(min, max)(readCount(value, path), path);

function readSampling(body: JsonObject): HubSampling {
  return compact({
    temperature: optional(body, 'temperature', between(0, 2)),
    topP: optional(body, 'top_p', between(0, 1)),
    seed: optional(body, 'seed', readNumber),
    presence: optional(body, 'presence_penalty', between(-2, 2)),
    frequency: optional(body, 'frequency_penalty', between(-2, 2)),
    logitBias: optional(body, 'logit_bias', readBias),
    n: optional(body, 'n', wholeNumber(1, 128)),
    logprobs: optional(body, 'logprobs', readBoolean),
    topLogprobs: optional(body, 'top_logprobs', wholeNumber(0, 20)),
    stop: optional(body, 'stop', readStop),
  });
}

/** Returns undefined for an empty object, which biases nothing. */
function readBias(value: unknown, path: string): Readonly<Record<string, number>> | undefined {
  const entries = Object.entries(needObject(value, path));
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map(([token, bias]) => [token, between(-100, 100)(bias, `${path}.${token}`)]));
}

function readStop(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'string' && !Array.isArray(value))
    return wrongType(path, 'a string or an array of strings', value);
  const sequences = readStringOrList(value, path);
  if (sequences.length > 4) wrongValue(path, 'at most 4 stop sequences are allowed.');
  return sequences.includes('') ? wrongValue(path, 'a stop sequence must not be empty.') : sequences;
}

// ---------------------------------------------------------------- metadata

function readMeta(body: JsonObject): HubMeta {
  const tier = optional(body, 'service_tier', oneOf(CLIENT_TIER_NAMES));
  return compact({
    userId: optional(body, 'safety_identifier', needString) ?? optional(body, 'user', needString),
    metadata: optional(body, 'metadata', readStringMap),
    serviceTier: tier && CLIENT_TIERS[tier],
  });
}

function readClientOptions(body: JsonObject): ChatClientOptions {
  const options = optional(body, 'stream_options', needObject);
  return compact({
    usageChunk: options && optional(options, 'include_usage', readBoolean, 'stream_options'),
    logprobs: optional(body, 'logprobs', readBoolean),
    thoughts: hidesReasoning(body) ? false : undefined,
    functions: isGiven(body.functions) || undefined,
  });
}

/** `store` would keep the conversation at the provider, and `scale` would use capacity that the caller bought there. */
function unknownFields(body: JsonObject): readonly string[] {
  const names = unreadMembers(body, MEMBERS);
  if (body.store === true) names.push('store');
  if (body.service_tier === 'scale') names.push('service_tier');
  // The reasoning inside of the text, between tags.
  if (body.reasoning_format === 'raw') names.push('reasoning_format');
  return names;
}
