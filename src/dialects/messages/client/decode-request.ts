/**
 * A client's request read into the hub: the fields of the body, and what no other provider could honour refused by name.
 * Conversation and tools have files of their own. Nothing here knows where the request will go.
 */
import { fail } from '../../../core/index.ts';
import type { ClientRequestHead } from '../../codec.ts';
import type { Effort, HubFormat, HubReasoning, HubRequest, HubSampling, HubText, JsonObject } from '../../hub/types.ts';
import {
  aBoolean,
  aCount,
  between,
  compact,
  given,
  isObject,
  needList,
  needObject,
  needString,
  oneOf,
  optional,
  strings,
  unsupported,
  wrongType,
  wrongValue,
} from '../../wire/read.ts';
import { decodeContextManagement } from './context-management.ts';
import { decodeMessages } from './decode-content.ts';
import { readCacheBreakpoint } from './decode-media.ts';
import { decodeToolChoice, decodeTools } from './decode-tools.ts';

export const decodeRequest = (body: unknown, from: ClientRequestHead): HubRequest =>
  read(body, from, { counting: false });

/** The same body for counting its tokens, where no output is asked for and so no bound on it is needed (G 4.3). */
export const decodeCountRequest = (body: unknown, from: ClientRequestHead): HubRequest =>
  read(body, from, { counting: true });

function read(value: unknown, from: ClientRequestHead, { counting }: { counting: boolean }): HubRequest {
  const body = needObject(value, 'body');
  refuseForeign(body);
  const maxTokens = readMaxTokens(body, counting);
  const tools = decodeTools(body);
  const userId = optional(needMaybe(body, 'metadata'), 'user_id', needString, 'metadata');
  const session = sessionOf(from, userId);
  const context = decodeContextManagement(body.context_management);
  return {
    dialect: 'messages',
    model: needString(body.model, 'model'),
    stream: optional(body, 'stream', aBoolean) ?? false,
    system: decodeSystem(body.system),
    items: decodeMessages(needList(body.messages, 'messages')),
    tools,
    ...decodeToolChoice(body.tool_choice, tools),
    reasoning: decodeReasoning(body, maxTokens),
    output: { format: decodeFormat(body) },
    limits: compact({
      prewarm: maxTokens === 0 ? true : undefined,
      maxOutput: maxTokens === 0 ? undefined : maxTokens,
      compactAt: context.compactAt,
    }),
    sampling: decodeSampling(body),
    cache: given(body.cache_control) ? { auto: true } : {},
    state: {},
    meta: compact({ userId, serviceTier: decodeTier(body) }),
    ...(session !== undefined && { session }),
    unknown: Object.keys(body).filter(
      (name) => given(body[name]) && !KNOWN.has(name) && (name !== 'context_management' || context.hasOthers),
    ),
    clientOptions: {},
  };
}

/** Fields with a place in the hub. Known fields that are not here (speed, inference_geo, fallbacks ...) have none. */
const KNOWN: ReadonlySet<string> = new Set([
  'model',
  'max_tokens',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'stream',
  'metadata',
  'service_tier',
  'cache_control',
  'mcp_servers',
]);

/** State and machines that live at one provider: leaving them out would change what the request means. */
const FOREIGN: Readonly<Record<string, string>> = {
  container: 'containers belong to one provider and cannot be used with this model.',
  compaction: 'compaction requests cannot be converted for this model.',
};

/** Told with this word, the SDK sends the whole conversation instead. */
const NO_THREADS = 'thread_unsupported_request';

function refuseForeign(body: JsonObject): void {
  if (given(body.thread)) {
    const message = 'thread: threads are kept by the provider; send the whole conversation without one.';
    throw fail('unsupported_parameter', message, { param: 'thread', reason: NO_THREADS });
  }
  for (const [name, why] of Object.entries(FOREIGN)) if (given(body[name])) unsupported(name, why);
}

function readMaxTokens(body: JsonObject, counting: boolean): number | undefined {
  if (given(body.max_tokens)) return aCount(body.max_tokens, 'max_tokens');
  return counting ? undefined : wrongType('max_tokens', 'a whole number', body.max_tokens);
}

const needMaybe = (body: JsonObject, name: string): JsonObject =>
  given(body[name]) ? needObject(body[name], name) : {};

// ---------------------------------------------------------------- system

/** The CLI's attribution line changes from call to call, means nothing elsewhere and would spoil every prompt cache. */
const BILLING_LINE = 'x-anthropic-billing-header:';

function decodeSystem(value: unknown): HubText[] {
  if (!given(value)) return [];
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
  return blocks.filter((block, n) => block.text !== '' && !(n === 0 && block.text.startsWith(BILLING_LINE)));
}

// ---------------------------------------------------------------- reasoning and output

function decodeReasoning(body: JsonObject, maxTokens: number | undefined): HubReasoning {
  const effort = optional(needMaybe(body, 'output_config'), 'effort', anEffort, 'output_config');
  if (!given(body.thinking)) return compact({ effort, show: 'none' as const });
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
const anEffort = oneOf<Effort>(['low', 'medium', 'high', 'xhigh', 'max']);

function readBudget(thinking: JsonObject, maxTokens: number | undefined): number {
  const budget = aCount(thinking.budget_tokens, 'thinking.budget_tokens');
  if (budget < 1024) wrongValue('thinking.budget_tokens', 'must be at least 1024.');
  if (maxTokens !== undefined && budget >= maxTokens)
    wrongValue('thinking.budget_tokens', 'must be less than max_tokens.');
  return budget;
}

/** `output_format` is the older spelling of the same thing. */
function decodeFormat(body: JsonObject): HubFormat {
  const config = needMaybe(body, 'output_config');
  const [path, value] = given(config.format)
    ? ['output_config.format', config.format]
    : ['output_format', body.output_format];
  if (!given(value)) return { kind: 'text' };
  const format = needObject(value, path);
  oneOf(['json_schema'])(format.type, `${path}.type`);
  return { kind: 'schema', schema: needObject(format.schema, `${path}.schema`) };
}

// ---------------------------------------------------------------- sampling and the rest

function decodeSampling(body: JsonObject): HubSampling {
  return compact({
    temperature: optional(body, 'temperature', aShare),
    topP: optional(body, 'top_p', aShare),
    topK: optional(body, 'top_k', aCount),
    stop: optional(body, 'stop_sequences', stopSequences),
  });
}

const aShare = between(0, 1);

/** Where an upstream has no stop field the gateway looks for these itself in every delta, hence the bounds. */
const MAX_STOPS = 16;
const MAX_STOP_CHARS = 256;

function stopSequences(value: unknown, path: string): string[] {
  const list = strings(value, path);
  if (list.length > MAX_STOPS) wrongValue(path, `at most ${MAX_STOPS} sequences are allowed.`);
  const bad = list.findIndex((text) => text === '' || text.length > MAX_STOP_CHARS);
  if (bad >= 0) wrongValue(`${path}[${bad}]`, `must have 1 to ${MAX_STOP_CHARS} characters.`);
  return list;
}

function decodeTier(body: JsonObject): 'auto' | 'standard' | undefined {
  const tier = optional(body, 'service_tier', oneOf<'auto' | 'standard_only'>(['auto', 'standard_only']));
  return tier === 'standard_only' ? 'standard' : tier;
}

/** The header where the CLI sends it; older ones only pack the session into the user id, as a suffix or as JSON. */
function sessionOf(from: ClientRequestHead, userId: string | undefined): string | undefined {
  const header = from.headers['x-claude-code-session-id'];
  if (header) return header;
  if (userId === undefined || userId.length > 1_024) return undefined;
  const suffix = /_session_([0-9a-fA-F-]{36})$/.exec(userId)?.[1];
  return suffix ?? (userId.startsWith('{') ? sessionInJson(userId) : undefined);
}

function sessionInJson(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && typeof value.session_id === 'string' ? value.session_id : undefined;
  } catch {
    return undefined;
  }
}
