/**
 * A chat client's request, read into the hub. Strict about the fields that are used, named by their path; fields that are
 * not known are collected as losses. What no other dialect can honour is refused here.
 */
import type { ClientRequestHead } from '../../codec.ts';
import {
  EFFORTS,
  type HubFormat,
  type HubMeta,
  type HubOutput,
  type HubRequest,
  type HubSampling,
  type JsonObject,
} from '../../hub/types.ts';
import {
  aBoolean,
  aCount,
  aNumber,
  between,
  compact,
  given,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  stringMap,
  unsupported,
  wrongType,
  wrongValue,
} from '../../wire/read.ts';
import { CLIENT_TIERS, TIER_WORDS } from '../../wire/service-tiers.ts';
import { readStrings } from './decode-content.ts';
import { readMessages } from './decode-messages.ts';
import { readToolSettings } from './decode-tools.ts';
import type { ChatClientOptions } from './delta-writer.ts';

export function decodeRequest(value: unknown, from: ClientRequestHead): HubRequest {
  const body = needObject(value, 'body');
  const { system, items } = readMessages(body.messages);
  if (given(body.moderation)) unsupported('moderation', 'moderation cannot be asked for in a converted request.');
  const key = optional(body, 'prompt_cache_key', needString);
  return compact({
    dialect: 'chat' as const,
    model: from.model ?? readModel(body),
    stream: from.stream ?? optional(body, 'stream', aBoolean) ?? false,
    system,
    items,
    ...readToolSettings(body),
    reasoning: readReasoning(body),
    output: readOutput(body),
    limits: readLimits(body),
    sampling: readSampling(body),
    cache: compact({ key }),
    state: compact({ store: optional(body, 'store', aBoolean) }),
    meta: readMeta(body),
    session: key,
    unknown: unknownFields(body),
    clientOptions: readClientOptions(body),
  });
}

function readModel(body: JsonObject): string {
  return needString(body.model, 'model') || wrongValue('model', 'must not be empty.');
}

/** Thoughts are shown as `reasoning_content` unless there are none. */
function readReasoning(body: JsonObject): HubRequest['reasoning'] {
  const effort = optional(body, 'reasoning_effort', oneOf(EFFORTS));
  if (effort === 'none') return { mode: 'off', effort, show: 'none' };
  return compact({ effort, show: 'summary' as const });
}

function readOutput(body: JsonObject): HubOutput {
  const modalities = optional(body, 'modalities', needList);
  return compact({
    format: readFormat(body),
    verbosity: optional(body, 'verbosity', oneOf(['low', 'medium', 'high'] as const)),
    modalities: modalities?.map((one, n) => oneOf(['text', 'image', 'audio'] as const)(one, `modalities[${n}]`)),
  });
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
    strict: optional(wire, 'strict', aBoolean, path),
    description: optional(wire, 'description', needString, path),
  });
}

function readLimits(body: JsonObject): HubRequest['limits'] {
  const name = given(body.max_completion_tokens) ? 'max_completion_tokens' : 'max_tokens';
  const maxOutput = optional(body, name, aCount);
  if (maxOutput === 0) wrongValue(name, 'must be at least 1.');
  return compact({ maxOutput });
}

const whole =
  (least: number, most: number) =>
  (value: unknown, path: string): number =>
    between(least, most)(aCount(value, path), path);

function readSampling(body: JsonObject): HubSampling {
  return compact({
    temperature: optional(body, 'temperature', between(0, 2)),
    topP: optional(body, 'top_p', between(0, 1)),
    seed: optional(body, 'seed', aNumber),
    presence: optional(body, 'presence_penalty', between(-2, 2)),
    frequency: optional(body, 'frequency_penalty', between(-2, 2)),
    logitBias: optional(body, 'logit_bias', readBias),
    n: optional(body, 'n', whole(1, 128)),
    logprobs: optional(body, 'logprobs', aBoolean),
    topLogprobs: optional(body, 'top_logprobs', whole(0, 20)),
    stop: optional(body, 'stop', readStop),
  });
}

function readBias(value: unknown, path: string): Readonly<Record<string, number>> {
  const entries = Object.entries(needObject(value, path));
  return Object.fromEntries(entries.map(([token, bias]) => [token, between(-100, 100)(bias, `${path}.${token}`)]));
}

function readStop(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'string' && !Array.isArray(value))
    return wrongType(path, 'a string or an array of strings', value);
  const words = readStrings(value, path);
  if (words.length > 4) wrongValue(path, 'at most 4 stop sequences are allowed.');
  return words.includes('') ? wrongValue(path, 'a stop sequence must not be empty.') : words;
}

// ---------------------------------------------------------------- around the conversation

function readMeta(body: JsonObject): HubMeta {
  const tier = optional(body, 'service_tier', oneOf(TIER_WORDS));
  return compact({
    userId: optional(body, 'safety_identifier', needString) ?? optional(body, 'user', needString),
    metadata: optional(body, 'metadata', stringMap),
    serviceTier: tier && CLIENT_TIERS[tier],
  });
}

function readClientOptions(body: JsonObject): ChatClientOptions {
  const options = optional(body, 'stream_options', needObject);
  return compact({
    usageChunk: options && optional(options, 'include_usage', aBoolean, 'stream_options'),
    logprobs: optional(body, 'logprobs', aBoolean),
    functions: given(body.functions) || undefined,
  });
}

/** Fields that are read above. `audio` and `prediction` are official too, but nobody else can use them: they count as lost. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'max_completion_tokens', 'max_tokens'],
  ...['temperature', 'top_p', 'seed', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'n', 'logprobs'],
  ...['top_logprobs', 'stop', 'response_format', 'verbosity', 'modalities', 'reasoning_effort'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call', 'web_search_options'],
  ...['store', 'metadata', 'user', 'safety_identifier', 'prompt_cache_key', 'service_tier', 'moderation'],
]);

const unknownFields = (body: JsonObject): readonly string[] =>
  Object.keys(body).filter((name) => given(body[name]) && !KNOWN.has(name));
