/** A client's request, top level. What no other provider could do is refused here; what is merely unknown is named and left out. */
import { fail } from '../../../core/index.ts';
import type { ClientRequestHead } from '../../codec.ts';
import type { HubItem, HubMeta, HubRequest, HubSampling, HubText, JsonObject } from '../../hub/types.ts';
import {
  aBoolean,
  aCount,
  between,
  compact,
  given,
  isObject,
  maybeObject,
  needString,
  oneOf,
  optional,
  stringMap,
  strings,
  unsupported,
  wrongValue,
} from '../../wire/read.ts';
import { CLIENT_TIERS, TIER_WORDS } from '../../wire/service-tiers.ts';
import { decodeInput } from './decode-items.ts';
import { decodeOutputSettings, decodeReasoning } from './decode-settings.ts';
import { decodeToolChoice, decodeTools } from './decode-tools.ts';

export function decodeRequest(value: unknown, from: ClientRequestHead): HubRequest {
  if (!isObject(value)) throw fail('invalid_request', 'The body must be a JSON object.');
  refuseHeldState(value);
  const previousId = optional(value, 'previous_response_id', needString);
  const { system, items } = splitSystem(value, previousId !== undefined);
  const include = optional(value, 'include', strings) ?? [];
  const key = optional(value, 'prompt_cache_key', needString);
  return compact({
    dialect: 'responses',
    model: modelOf(value, from),
    stream: from.stream ?? optional(value, 'stream', aBoolean) ?? false,
    system,
    items,
    tools: decodeTools(value.tools, 'tools'),
    ...decodeToolChoice(value.tool_choice),
    parallelTools: optional(value, 'parallel_tool_calls', aBoolean),
    reasoning: decodeReasoning(value),
    output: decodeOutputSettings(value),
    limits: limitsOf(value),
    sampling: samplingOf(value, include),
    cache: compact({ key }),
    state: compact({ previousId, store: optional(value, 'store', aBoolean) }),
    meta: metaOf(value),
    session: key ?? from.headers['session-id'] ?? from.headers.session_id ?? from.headers['thread-id'],
    unknown: unknownOf(value),
    clientOptions: compact({ logprobs: include.includes(LOGPROBS) ? true : undefined }),
  });
}

const LOGPROBS = 'message.output_text.logprobs';

/** State or work that only the provider of this dialect could hold. */
function refuseHeldState(body: JsonObject): void {
  if (body.background === true) unsupported('background', 'background responses are not offered.');
  for (const field of ['conversation', 'prompt', 'moderation']) {
    if (given(body[field])) unsupported(field, 'not available for models of this provider.');
  }
}

function modelOf(body: JsonObject, from: ClientRequestHead): string {
  const model = from.model ?? needString(body.model, 'model');
  return model === '' ? wrongValue('model', 'must not be empty.') : model;
}

/**
 * Instructions, then the leading run of system and developer messages. Behind a previous response nothing is leading: the
 * messages stay where they are.
 */
function splitSystem(body: JsonObject, continued: boolean): { system: HubText[]; items: HubItem[] } {
  const instructions = optional(body, 'instructions', needString);
  const system: HubText[] = instructions ? [{ kind: 'text', text: instructions }] : [];
  if (!given(body.input) && continued) return { system, items: [] };
  const items: HubItem[] = [];
  let leading = !continued;
  for (const item of decodeInput(body.input)) {
    if (leading && item.kind === 'message' && item.role === 'system') {
      system.push(...item.parts.filter((part) => part.kind === 'text'));
    } else {
      leading &&= item.kind === 'tool_change' || item.kind === 'config_change';
      items.push(item);
    }
  }
  return { system, items };
}

function limitsOf(body: JsonObject): HubRequest['limits'] {
  const maxOutput = optional(body, 'max_output_tokens', aCount);
  if (maxOutput === 0) wrongValue('max_output_tokens', 'must be at least 1.');
  const prewarm = maybeObject(body.prompt_cache_options).prewarm === true || body.generate === false;
  return compact({
    maxOutput,
    maxToolCalls: optional(body, 'max_tool_calls', aCount),
    prewarm: prewarm ? true : undefined,
  });
}

function samplingOf(body: JsonObject, include: readonly string[]): HubSampling {
  return compact({
    temperature: optional(body, 'temperature', between(0, 2)),
    topP: optional(body, 'top_p', between(0, 1)),
    logprobs: include.includes(LOGPROBS) ? true : undefined,
    topLogprobs: optional(body, 'top_logprobs', aCount),
  });
}

function metaOf(body: JsonObject): HubMeta {
  const tier = optional(body, 'service_tier', oneOf(TIER_WORDS));
  return compact({
    userId: optional(body, 'safety_identifier', needString) ?? optional(body, 'user', needString),
    metadata: optional(body, 'metadata', stringMap),
    serviceTier: tier && CLIENT_TIERS[tier],
  });
}

/** Read above, or without effect on the answer. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['model', 'stream', 'instructions', 'input', 'tools', 'tool_choice', 'parallel_tool_calls', 'reasoning', 'text'],
  ...['max_output_tokens', 'max_tool_calls', 'temperature', 'top_p', 'top_logprobs', 'include', 'store', 'background'],
  ...['previous_response_id', 'prompt_cache_key', 'prompt_cache_options', 'metadata', 'user', 'safety_identifier'],
  ...['service_tier', 'truncation', 'generate', 'stream_id', 'type', 'conversation', 'prompt', 'moderation'],
]);

function unknownOf(body: JsonObject): string[] {
  const names = Object.keys(body).filter((name) => given(body[name]) && !KNOWN.has(name));
  // The default asks for nothing; `auto` asks the provider to cut the history, which nobody does for us.
  if (given(body.truncation) && body.truncation !== 'disabled') names.push('truncation');
  const reasoning = maybeObject(body.reasoning);
  for (const name of ['context', 'mode']) if (given(reasoning[name])) names.push(`reasoning.${name}`);
  if (given(maybeObject(body.prompt_cache_options).ttl)) names.push('prompt_cache_options.ttl');
  return names;
}
