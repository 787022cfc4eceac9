/** Detection of bodies of other dialects on a native path, by member names only (G 4.1 r2). */
import { failAt } from '../../../core/index.ts';
import { type Dialect, INFERENCE_ENDPOINTS } from '../../../rules/index.ts';
import type { JsonObject } from '../../hub/types.ts';
import { isGiven, isObject, maybeList } from '../../wire/read.ts';

interface WrongDialectBody {
  readonly dialect: Dialect;
  /** Path of the endpoint that accepts the body. */
  readonly endpoint: string;
}

/** Returns undefined for a body with `contents`, or one that fits no other dialect. */
export function detectWrongDialect(body: unknown): WrongDialectBody | undefined {
  if (!isObject(body) || isGiven(body.contents)) return undefined;
  if (Array.isArray(body.messages)) {
    return isMessagesBody(body)
      ? { dialect: 'messages', endpoint: INFERENCE_ENDPOINTS['messages.create'].path }
      : { dialect: 'chat', endpoint: INFERENCE_ENDPOINTS['chat.create'].path };
  }
  if (isGiven(body.input)) return { dialect: 'responses', endpoint: INFERENCE_ENDPOINTS['responses.create'].path };
  return undefined;
}

export function rejectWrongDialect(body: unknown): void {
  const found = detectWrongDialect(body);
  if (found === undefined) return;
  const member = found.dialect === 'responses' ? 'input' : 'messages';
  throw failAt('wrong_dialect', member, `this endpoint expects "contents"; send this body to POST ${found.endpoint}.`);
}

const MESSAGES_ONLY = [
  'system',
  'stop_sequences',
  'thinking',
  'top_k',
  'output_config',
  'anthropic_version',
  'container',
];
const CHAT_ONLY = [
  'max_completion_tokens',
  'response_format',
  'stream_options',
  'reasoning_effort',
  'n',
  'stop',
  'functions',
];
const CHAT_ROLES = new Set(['system', 'developer', 'tool', 'function']);

/**
 * Both chat and messages have `messages`. Without other evidence
 * `max_tokens` decides, which only messages requires.
 */
function isMessagesBody(body: JsonObject): boolean {
  const tools = maybeList(body.tools).filter(isObject);
  if (MESSAGES_ONLY.some((name) => isGiven(body[name])) || tools.some((tool) => isGiven(tool.input_schema)))
    return true;
  const roles = maybeList(body.messages).map((message) => (isObject(message) ? message.role : undefined));
  const isChat =
    CHAT_ONLY.some((name) => isGiven(body[name])) ||
    tools.some((tool) => isGiven(tool.function)) ||
    roles.some((role) => typeof role === 'string' && CHAT_ROLES.has(role));
  return !isChat && isGiven(body.max_tokens);
}
