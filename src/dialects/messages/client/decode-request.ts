/**
 * Decoder of a client's request body. Rejects fields that hold state at one provider. Never looks at the upstream the
 * request goes to.
 */
import { fail, valueOfJson } from '../../../core/index.ts';
import type { ClientRequestHead } from '../../codec.ts';
import type { Effort, HubFormat, HubReasoning, HubRequest, HubSampling, HubText, JsonObject } from '../../hub/types.ts';
import { unreadMembers } from '../../wire/members.ts';
import {
  between,
  compact,
  isGiven,
  isObject,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  readBoolean,
  readCount,
  readStrings,
  unsupported,
  wrongType,
  wrongValue,
} from '../../wire/read.ts';
import { decodeContextManagement } from './context-management.ts';
import { decodeMessages } from './decode-content.ts';
import { readCacheBreakpoint } from './decode-media.ts';
import { decodeToolChoice, decodeTools } from './decode-tools.ts';
import { MEMBERS } from './members.ts';

export const decodeRequest = (body: unknown, from: ClientRequestHead): HubRequest =>
  read(body, from, { counting: false });

/** Decodes the same body for token counting, where `max_tokens` is optional because no output is requested (G 4.3). */
export const decodeCountRequest = (body: unknown, from: ClientRequestHead): HubRequest =>
  read(body, from, { counting: true });

function read(value: unknown, from: ClientRequestHead, { counting }: { counting: boolean }): HubRequest {
  const body = needObject(value, 'body');
  rejectProviderState(body);
  const maxTokens = readMaxTokens(body, counting);
  const tools = decodeTools(body);
  const userId = optional(optionalObject(body, 'metadata'), 'user_id', needString, 'metadata');
  const session = sessionOf(from, userId);
  const context = decodeContextManagement(body.context_management);
  return {
    dialect: 'messages',
    model: needString(body.model, 'model'),
    stream: optional(body, 'stream', readBoolean) ?? false,
    system: decodeSystem(body.system),
    items: decodeMessages(needList(body.messages, 'messages')),
    tools,
    ...decodeToolChoice(body.tool_choice, tools),
    reasoning: decodeReasoning(body, maxTokens),
    ...reasoningNames(body),
    output: { format: decodeFormat(body) },
    limits: compact({
      prewarm: maxTokens === 0 ? true : undefined,
      maxOutput: maxTokens === 0 ? undefined : maxTokens,
      compactAt: context.compactAt,
    }),
    sampling: decodeSampling(body),
    cache: isGiven(body.cache_control) ? { auto: true } : {},
    state: {},
    meta: compact({ userId, serviceTier: decodeTier(body) }),
    ...(session !== undefined && { session }),
    unknown: [
      ...unreadMembers(body, MEMBERS),
      ...(context.hasOtherEdits ? ['context_management'] : []),
      // Other providers show thinking as a summary or not at all.
      ...(isObject(body.thinking) && body.thinking.display === 'updates' ? ['thinking.display'] : []),
    ],
    clientOptions: {},
  };
}

/** Fields that refer to state at one provider. Dropping them would change the meaning of the request. */
const PROVIDER_STATE: Readonly<Record<string, string>> = {
  container: 'not supported by this model; containers exist only at the provider that created them.',
  compaction: 'compaction requests are not supported by this model.',
};

/** With this reason the SDK retries with the full conversation instead of a thread. */
const THREAD_REASON = 'thread_unsupported_request';

function rejectProviderState(body: JsonObject): void {
  if (isGiven(body.thread)) {
    const message = 'thread: not supported by this model; send the whole conversation in messages.';
    throw fail('unsupported_parameter', message, { param: 'thread', reason: THREAD_REASON });
  }
  for (const [name, why] of Object.entries(PROVIDER_STATE)) if (isGiven(body[name])) unsupported(name, why);
}

function readMaxTokens(body: JsonObject, counting: boolean): number | undefined {
  if (isGiven(body.max_tokens)) return readCount(body.max_tokens, 'max_tokens');
  return counting ? undefined : wrongType('max_tokens', 'a whole number', body.max_tokens);
}

const optionalObject = (body: JsonObject, name: string): JsonObject =>
  isGiven(body[name]) ? needObject(body[name], name) : {};

// ---------------------------------------------------------------- system

/** Start of the CLI's attribution line. The line changes with every request and would defeat prompt caches elsewhere. */
const ATTRIBUTION_PREFIX = 'x-anthropic-billing-header:';

function decodeSystem(value: unknown): HubText[] {
  if (!isGiven(value)) return [];
  if (typeof value === 'string') return value === '' ? [] : [{ kind: 'text', text: value }];
  const blocks = needList(value, 'system').map((entry, n): HubText => {
    const block = needObject(entry, `system[${n}]`);
    if (block.type !== 'text') unsupported(`system[${n}].type`, 'expected text.');
    return {
      kind: 'text',
      text: needString(block.text, `system[${n}].text`),
      ...readCacheBreakpoint(block, `system[${n}]`),
    };
  });
  return blocks.filter((block, n) => block.text !== '' && !(n === 0 && block.text.startsWith(ATTRIBUTION_PREFIX)));
}

// ---------------------------------------------------------------- reasoning and output

function decodeReasoning(body: JsonObject, maxTokens: number | undefined): HubReasoning {
  const effort = optional(optionalObject(body, 'output_config'), 'effort', effortName, 'output_config');
  if (!isGiven(body.thinking)) return compact({ effort, show: 'none' as const });
  const thinking = needObject(body.thinking, 'thinking');
  const mode = MODES[oneOf(THINKING)(thinking.type, 'thinking.type')];
  const display = optional(thinking, 'display', oneOf(DISPLAYS), 'thinking');
  return compact({
    mode,
    effort,
    budget: mode === 'budget' ? readBudget(thinking, maxTokens) : undefined,
    show: mode === 'off' || display === 'omitted' ? ('none' as const) : ('summary' as const),
  });
}

const THINKING = ['adaptive', 'enabled', 'disabled', 'between_tools'] as const;
const DISPLAYS = ['summarized', 'omitted', 'updates'] as const;
const MODES = { adaptive: 'auto', enabled: 'budget', disabled: 'off', between_tools: 'between_tools' } as const;
/** Two fields configure reasoning, alone or together. */
function reasoningNames(body: JsonObject): Pick<HubRequest, 'fieldNames'> {
  if (!isGiven(optionalObject(body, 'output_config').effort)) return {};
  const effort = 'output_config.effort';
  return { fieldNames: { reasoning: isGiven(body.thinking) ? ['thinking', effort] : [effort] } };
}

const effortName = oneOf<Effort>(['low', 'medium', 'high', 'xhigh', 'max']);

function readBudget(thinking: JsonObject, maxTokens: number | undefined): number {
  const budget = readCount(thinking.budget_tokens, 'thinking.budget_tokens');
  if (budget < 1024) wrongValue('thinking.budget_tokens', 'must be at least 1024.');
  if (maxTokens !== undefined && budget >= maxTokens)
    wrongValue('thinking.budget_tokens', 'must be less than max_tokens.');
  return budget;
}

/** Reads `output_config.format`, or `output_format`, its older name. */
function decodeFormat(body: JsonObject): HubFormat {
  const config = optionalObject(body, 'output_config');
  const [path, value] = isGiven(config.format)
    ? ['output_config.format', config.format]
    : ['output_format', body.output_format];
  if (!isGiven(value)) return { kind: 'text' };
  const format = needObject(value, path);
  oneOf(['json_schema'])(format.type, `${path}.type`);
  return { kind: 'schema', schema: needObject(format.schema, `${path}.schema`) };
}

// ---------------------------------------------------------------- sampling, tier and session

function decodeSampling(body: JsonObject): HubSampling {
  return compact({
    temperature: optional(body, 'temperature', aFraction),
    topP: optional(body, 'top_p', aFraction),
    topK: optional(body, 'top_k', readCount),
    stop: optional(body, 'stop_sequences', stopSequences),
  });
}

const aFraction = between(0, 1);

/** Limits on stop sequences. Without upstream support the gateway searches every delta for them. */
const MAX_STOPS = 16;
const MAX_STOP_CHARS = 256;

function stopSequences(value: unknown, path: string): string[] {
  const list = readStrings(value, path);
  if (list.length > MAX_STOPS) wrongValue(path, `at most ${MAX_STOPS} sequences are allowed.`);
  const invalid = list.findIndex((text) => text === '' || text.length > MAX_STOP_CHARS);
  if (invalid >= 0) wrongValue(`${path}[${invalid}]`, `must have 1 to ${MAX_STOP_CHARS} characters.`);
  return list;
}

function decodeTier(body: JsonObject): 'auto' | 'standard' | undefined {
  const tier = optional(body, 'service_tier', oneOf<'auto' | 'standard_only'>(['auto', 'standard_only']));
  return tier === 'standard_only' ? 'standard' : tier;
}

/** Reads the session from the CLI's header. Older versions put it into the user id, as a suffix or as JSON. */
function sessionOf(from: ClientRequestHead, userId: string | undefined): string | undefined {
  return from.headers['x-claude-code-session-id'] || (userId === undefined ? undefined : sessionInUserId(userId));
}

/** The session that a CLI put into its user id; undefined for ids of users. */
export function sessionInUserId(userId: string): string | undefined {
  if (userId.length > 1_024) return undefined;
  const suffix = /_session_([0-9a-fA-F-]{36})$/.exec(userId)?.[1];
  return suffix ?? (userId.startsWith('{') ? sessionInJson(userId) : undefined);
}

function sessionInJson(text: string): string | undefined {
  const value = valueOfJson(text);
  return isObject(value) && typeof value.session_id === 'string' ? value.session_id : undefined;
}
