/** Decoder of a client request. Rejects features that need state at one provider; reports unknown fields as dropped. */
import { fail } from '../../../core/index.ts';
import type { ClientRequestHead } from '../../codec.ts';
import type { HubItem, HubRequest, HubSampling, HubText, JsonObject } from '../../hub/types.ts';
import { unreadMembers } from '../../wire/members.ts';
import { readMeta } from '../../wire/openai-request.ts';
import * as wire from '../../wire/read.ts';
import { decodeInput } from './decode-items.ts';
import { decodeOutputSettings, decodeReasoning } from './decode-settings.ts';
import { decodeToolChoice, decodeTools } from './decode-tools.ts';
import { MEMBERS } from './members.ts';

export function decodeRequest(body: unknown, head: ClientRequestHead): HubRequest {
  if (!wire.isObject(body)) throw fail('invalid_request', 'The body must be a JSON object.');
  rejectProviderState(body);
  const previousId = wire.optional(body, 'previous_response_id', wire.needString);
  const { system, items } = splitSystem(body, previousId !== undefined);
  const include = wire.optional(body, 'include', wire.readStrings) ?? [];
  const key = wire.optional(body, 'prompt_cache_key', wire.needString);
  return wire.compact({
    dialect: 'responses',
    model: modelOf(body, head),
    stream: head.stream ?? wire.optional(body, 'stream', wire.readBoolean) ?? false,
    system,
    items,
    tools: decodeTools(body.tools, 'tools'),
    ...decodeToolChoice(body.tool_choice),
    parallelTools: wire.optional(body, 'parallel_tool_calls', wire.readBoolean),
    reasoning: decodeReasoning(body),
    output: decodeOutputSettings(body),
    limits: limitsOf(body),
    sampling: samplingOf(body, include),
    cache: wire.compact({ key }),
    state: wire.compact({
      previousId,
      store: wire.optional(body, 'store', wire.readBoolean),
      background: wire.optional(body, 'background', wire.readBoolean) || undefined,
    }),
    meta: readMeta(body),
    session: key ?? head.headers['session-id'] ?? head.headers.session_id ?? head.headers['thread-id'],
    unknown: unknownFields(body, include),
    ...(wire.isGiven(wire.maybeObject(body.reasoning).generate_summary) && {
      fieldNames: { reasoningStyle: ['reasoning.generate_summary'] as const },
    }),
    clientOptions: wire.compact({ logprobs: include.includes(LOGPROBS) ? true : undefined }),
  });
}

const LOGPROBS = 'message.output_text.logprobs';

/** Only the original provider could keep this state. */
function rejectProviderState(body: JsonObject): void {
  for (const field of ['conversation', 'prompt', 'moderation']) {
    if (wire.isGiven(body[field])) wire.unsupported(field, "not supported by this model's provider.");
  }
}

function modelOf(body: JsonObject, head: ClientRequestHead): string {
  const model = head.model ?? wire.needString(body.model, 'model');
  return model === '' ? wire.wrongValue('model', 'must not be empty.') : model;
}

/**
 * Separates the system text: instructions and leading system
 * messages. After a previous response no message is leading.
 */
function splitSystem(body: JsonObject, hasPrevious: boolean): { system: HubText[]; items: HubItem[] } {
  const instructions = wire.optional(body, 'instructions', wire.needString);
  const system: HubText[] = instructions ? [{ kind: 'text', text: instructions }] : [];
  if (!wire.isGiven(body.input) && hasPrevious) return { system, items: [] };
  const items: HubItem[] = [];
  let isLeading = !hasPrevious;
  for (const item of decodeInput(body.input)) {
    if (isLeading && item.kind === 'message' && item.role === 'system') {
      system.push(...item.parts.filter((part) => part.kind === 'text'));
    } else {
      isLeading &&= item.kind === 'tool_change' || item.kind === 'config_change';
      items.push(item);
    }
  }
  return { system, items };
}

function limitsOf(body: JsonObject): HubRequest['limits'] {
  const maxOutput = wire.optional(body, 'max_output_tokens', wire.readCount);
  if (maxOutput === 0) wire.wrongValue('max_output_tokens', 'must be at least 1.');
  const prewarm = wire.maybeObject(body.prompt_cache_options).prewarm === true || body.generate === false;
  return wire.compact({
    maxOutput,
    maxToolCalls: wire.optional(body, 'max_tool_calls', wire.readCount),
    prewarm: prewarm ? true : undefined,
    compactAt: compactAt(body.context_management),
  });
}

/** The provider's own limit where the client names none. */
const DEFAULT_COMPACTION = 150_000;

function compactAt(value: unknown): number | undefined {
  const entry = wire
    .maybeList(value)
    .map(wire.maybeObject)
    .find(({ type }) => type === 'compaction');
  return entry && (wire.maybeCount(entry.compact_threshold) ?? DEFAULT_COMPACTION);
}

function samplingOf(body: JsonObject, include: readonly string[]): HubSampling {
  return wire.compact({
    temperature: wire.optional(body, 'temperature', wire.between(0, 2)),
    topP: wire.optional(body, 'top_p', wire.between(0, 1)),
    logprobs: include.includes(LOGPROBS) ? true : undefined,
    topLogprobs: wire.optional(body, 'top_logprobs', wire.readCount),
  });
}

function unknownFields(body: JsonObject, include: readonly string[]): string[] {
  const names = unreadMembers(body, MEMBERS);
  // `auto` lets the provider truncate the history, which the gateway cannot offer. `disabled` is the default.
  if (wire.isGiven(body.truncation) && body.truncation !== 'disabled') names.push('truncation');
  // Capacity that the caller bought at the provider.
  if (body.service_tier === 'scale') names.push('service_tier');
  if (include.some((name) => !INCLUDED.has(name))) names.push('include');
  return names;
}

/** What responses contain in any case, and log probabilities, which are rejected. */
const INCLUDED: ReadonlySet<string> = new Set([
  'reasoning.encrypted_content',
  'web_search_call.action.sources',
  LOGPROBS,
]);
