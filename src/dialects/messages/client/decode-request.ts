/** Decoder of a client's request body. Rejects fields that hold state at one provider. Never looks at the upstream. */
import { fail, valueOfJson } from '../../../core/index.ts';
import type { ClientRequestHead } from '../../codec.ts';
import type { HubFormat, HubReasoning, HubRequest, HubSampling, HubText, JsonObject } from '../../hub/types.ts';
import { readEffort } from '../../wire/efforts.ts';
import { unreadMembers } from '../../wire/members.ts';
import * as wire from '../../wire/read.ts';
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
  const body = wire.needObject(value, 'body');
  rejectProviderState(body);
  const maxTokens = readMaxTokens(body, counting);
  const tools = decodeTools(body);
  const userId = wire.optional(optionalObject(body, 'metadata'), 'user_id', wire.needString, 'metadata');
  const session = sessionOf(from, userId);
  const context = decodeContextManagement(body.context_management);
  return {
    dialect: 'messages',
    model: wire.needString(body.model, 'model'),
    stream: wire.optional(body, 'stream', wire.readBoolean) ?? false,
    system: decodeSystem(body.system),
    items: decodeMessages(wire.needList(body.messages, 'messages')),
    tools,
    ...decodeToolChoice(body.tool_choice, tools),
    reasoning: decodeReasoning(body, maxTokens),
    ...reasoningNames(body),
    output: { format: decodeFormat(body) },
    limits: wire.compact({
      prewarm: maxTokens === 0 ? true : undefined,
      maxOutput: maxTokens === 0 ? undefined : maxTokens,
      compactAt: context.compactAt,
    }),
    sampling: decodeSampling(body),
    cache: wire.isGiven(body.cache_control) ? { auto: true } : {},
    state: {},
    meta: wire.compact({ userId, serviceTier: decodeTier(body) }),
    ...(session !== undefined && { session }),
    unknown: [
      ...unreadMembers(body, MEMBERS),
      ...(context.hasOtherEdits ? ['context_management'] : []),
      ...unreadThinking(wire.maybeObject(body.thinking)),
    ],
    clientOptions: {},
  };
}

const COMPACT = /^compact_\d{8}$/;
/** Default trigger of the provider's API, in input tokens. */
const DEFAULT_TRIGGER = 150_000;

/**
 * `compactAt`: input tokens above which the provider summarises earlier
 * turns. Other edits and options have no counterpart in the hub.
 */
function decodeContextManagement(value: unknown) {
  if (!wire.isGiven(value)) return { hasOtherEdits: false };
  const edits = wire.maybeList(wire.maybeObject(value).edits).map(wire.maybeObject);
  const compact = edits.find(({ type }) => COMPACT.test(String(type)));
  const hasOtherEdits =
    edits.length !== 1 || !compact || compact.pause_after_compaction === true || wire.isGiven(compact.instructions);
  if (!compact) return { hasOtherEdits };
  return { compactAt: wire.maybeCount(wire.maybeObject(compact.trigger).value) ?? DEFAULT_TRIGGER, hasOtherEdits };
}

/** Fields that refer to state at one provider. Dropping them would change the meaning of the request. */
const PROVIDER_STATE: Readonly<Record<string, string>> = {
  container: 'not supported by this model; containers exist only at the provider that created them.',
  compaction: 'compaction requests are not supported by this model.',
};

/** With this reason the SDK retries with the full conversation instead of a thread. */
const THREAD_REASON = 'thread_unsupported_request';

function rejectProviderState(body: JsonObject): void {
  if (wire.isGiven(body.thread)) {
    const message = 'thread: not supported by this model; send the whole conversation in messages.';
    throw fail('unsupported_parameter', message, { param: 'thread', reason: THREAD_REASON });
  }
  for (const [name, why] of Object.entries(PROVIDER_STATE)) {
    if (wire.isGiven(body[name])) wire.unsupported(name, why);
  }
}

function readMaxTokens(body: JsonObject, counting: boolean): number | undefined {
  if (wire.isGiven(body.max_tokens)) return wire.readCount(body.max_tokens, 'max_tokens');
  return counting ? undefined : wire.wrongType('max_tokens', 'a whole number', body.max_tokens);
}

const optionalObject = (body: JsonObject, name: string): JsonObject =>
  wire.isGiven(body[name]) ? wire.needObject(body[name], name) : {};

/**
 * Start of the CLI's attribution line. The line changes with every
 * request and would defeat prompt caches elsewhere.
 */
const ATTRIBUTION_PREFIX = 'x-anthropic-billing-header:';

function decodeSystem(value: unknown): HubText[] {
  if (!wire.isGiven(value)) return [];
  if (typeof value === 'string') return value === '' ? [] : [{ kind: 'text', text: value }];
  const blocks = wire.needList(value, 'system').map((entry, n): HubText => {
    const block = wire.needObject(entry, `system[${n}]`);
    if (block.type !== 'text') wire.unsupported(`system[${n}].type`, 'expected text.');
    return {
      kind: 'text',
      text: wire.needString(block.text, `system[${n}].text`),
      ...readCacheBreakpoint(block, `system[${n}]`),
    };
  });
  return blocks.filter((block, n) => block.text !== '' && !(n === 0 && block.text.startsWith(ATTRIBUTION_PREFIX)));
}

function decodeReasoning(body: JsonObject, maxTokens: number | undefined): HubReasoning {
  const effort = wire.optional(optionalObject(body, 'output_config'), 'effort', readEffort, 'output_config');
  if (!wire.isGiven(body.thinking)) return wire.compact({ effort, show: 'none' as const });
  const thinking = wire.needObject(body.thinking, 'thinking');
  const mode = wire.lookUp(MODES, wire.needString(thinking.type, 'thinking.type'));
  const display = wire.optional(thinking, 'display', wire.needString, 'thinking');
  return wire.compact({
    mode,
    effort,
    budget: mode === 'budget' ? readBudget(thinking, maxTokens) : undefined,
    show: mode === 'off' || display === 'omitted' ? ('none' as const) : ('summary' as const),
  });
}

const MODES: Readonly<Record<string, NonNullable<HubReasoning['mode']>>> = {
  adaptive: 'auto',
  enabled: 'budget',
  disabled: 'off',
  between_tools: 'between_tools',
};
/** Other providers show thinking as a summary or not at all, and think as they do of their own accord. */
const unreadThinking = ({ type, display = 'summarized' }: JsonObject): string[] => [
  ...(wire.isGiven(type) && wire.lookUp(MODES, String(type)) === undefined ? ['thinking.type'] : []),
  ...(wire.isGiven(display) && display !== 'summarized' && display !== 'omitted' ? ['thinking.display'] : []),
];
/** Two fields configure reasoning, alone or together. */
function reasoningNames(body: JsonObject): Pick<HubRequest, 'fieldNames'> {
  if (!wire.isGiven(optionalObject(body, 'output_config').effort)) return {};
  const effort = 'output_config.effort';
  return { fieldNames: { reasoning: wire.isGiven(body.thinking) ? ['thinking', effort] : [effort] } };
}

function readBudget(thinking: JsonObject, maxTokens: number | undefined): number {
  const budget = wire.readCount(thinking.budget_tokens, 'thinking.budget_tokens');
  if (budget < 1024) wire.wrongValue('thinking.budget_tokens', 'must be at least 1024.');
  if (maxTokens !== undefined && budget >= maxTokens)
    wire.wrongValue('thinking.budget_tokens', 'must be less than max_tokens.');
  return budget;
}

/** Reads `output_config.format`, or `output_format`, its older name. */
function decodeFormat(body: JsonObject): HubFormat {
  const config = optionalObject(body, 'output_config');
  const [path, value] = wire.isGiven(config.format)
    ? ['output_config.format', config.format]
    : ['output_format', body.output_format];
  if (!wire.isGiven(value)) return { kind: 'text' };
  const format = wire.needObject(value, path);
  wire.oneOf(['json_schema'])(format.type, `${path}.type`);
  return { kind: 'schema', schema: wire.needObject(format.schema, `${path}.schema`) };
}

function decodeSampling(body: JsonObject): HubSampling {
  return wire.compact({
    temperature: wire.optional(body, 'temperature', aFraction),
    topP: wire.optional(body, 'top_p', aFraction),
    topK: wire.optional(body, 'top_k', wire.readCount),
    stop: wire.optional(body, 'stop_sequences', stopSequences),
  });
}

const aFraction = wire.between(0, 1);

/** Limits on stop sequences. Without upstream support the gateway searches every delta for them. */
const MAX_STOPS = 16;
const MAX_STOP_CHARS = 256;

function stopSequences(value: unknown, path: string): string[] {
  const list = wire.readStrings(value, path);
  if (list.length > MAX_STOPS) wire.wrongValue(path, `at most ${MAX_STOPS} sequences are allowed.`);
  const invalid = list.findIndex((text) => text === '' || text.length > MAX_STOP_CHARS);
  if (invalid >= 0) wire.wrongValue(`${path}[${invalid}]`, `must have 1 to ${MAX_STOP_CHARS} characters.`);
  return list;
}

function decodeTier(body: JsonObject): 'auto' | 'standard' | undefined {
  const tier = wire.optional(body, 'service_tier', wire.oneOf<'auto' | 'standard_only'>(['auto', 'standard_only']));
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
  return wire.isObject(value) && typeof value.session_id === 'string' ? value.session_id : undefined;
}
