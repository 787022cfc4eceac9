/** Recognises a body that was written for another endpoint and sent to a native path (G 4.1 r2). Judges by member names only. */
import { fail } from '../../../core/index.ts';
import { type Dialect, TEXT_ENDPOINTS } from '../../../rules/index.ts';
import type { JsonObject } from '../../hub/types.ts';
import { given, isObject, maybeList } from '../../wire/read.ts';

export interface WrongDialectBody {
  readonly dialect: Dialect;
  /** The path that takes such bodies. */
  readonly endpoint: string;
}

/** Undefined for a body with `contents`, and for one that is no better at issuer elsewhere. */
export function wrongDialect(body: unknown): WrongDialectBody | undefined {
  if (!isObject(body) || given(body.contents)) return undefined;
  if (Array.isArray(body.messages)) {
    return isMessagesBody(body)
      ? { dialect: 'messages', endpoint: TEXT_ENDPOINTS['messages.create'].path }
      : { dialect: 'chat', endpoint: TEXT_ENDPOINTS['chat.create'].path };
  }
  if (given(body.input)) return { dialect: 'responses', endpoint: TEXT_ENDPOINTS['responses.create'].path };
  return undefined;
}

export function rejectWrongDialect(body: unknown): void {
  const foreign = wrongDialect(body);
  if (foreign === undefined) return;
  const member = foreign.dialect === 'responses' ? 'input' : 'messages';
  throw fail(
    'wrong_dialect',
    `This endpoint takes "contents"; a body with "${member}" belongs to POST ${foreign.endpoint}.`,
    { param: member },
  );
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

/** Both dialects have `messages`; one of them also requires `max_tokens`, which decides where nothing else does. */
function isMessagesBody(body: JsonObject): boolean {
  const tools = maybeList(body.tools).filter(isObject);
  if (MESSAGES_ONLY.some((name) => given(body[name])) || tools.some((tool) => given(tool.input_schema))) return true;
  const roles = maybeList(body.messages).map((message) => (isObject(message) ? message.role : undefined));
  const chat =
    CHAT_ONLY.some((name) => given(body[name])) ||
    tools.some((tool) => given(tool.function)) ||
    roles.some((role) => typeof role === 'string' && CHAT_ROLES.has(role));
  return !chat && given(body.max_tokens);
}
