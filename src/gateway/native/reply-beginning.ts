/**
 * When the reply of a native stream has begun: with a token, a call, a picture, or an end that is complete (G 8). A head, comments, pings, empty
 * deltas and events that only announce a reply are no beginning: another account may still take the call, and the client owes nothing.
 */
import { isObject, type JsonObject, maybeList, maybeObject } from '../../dialects/index.ts';
import type { Dialect } from '../../rules/index.ts';

/** What one event brings. */
interface Progress {
  /** Something that the client reads, or words of refusal. */
  readonly content?: boolean;
  /** The model reasons, or runs a tool at the provider; nothing of that can be read yet. */
  readonly work?: boolean;
  /** Nothing follows but a report of usage. */
  readonly end?: boolean;
  readonly usage?: boolean;
}

export type Beginning = 'nothing' | 'at work' | 'begun';

export class ReplyBeginning {
  readonly #dialect: Dialect;
  #state: Beginning = 'nothing';
  #hasEnded = false;
  #hasUsage = false;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  get state(): Beginning {
    return this.#state;
  }

  /** `data` is that of one event. What cannot be read is for the client to judge. */
  push(data: string): Beginning {
    if (this.#state === 'begun' || data === '' || data === '[DONE]') return this.#state;
    const event = objectIn(data);
    const { content, work, end, usage } = event ? PROGRESS[this.#dialect](event) : { content: true };
    this.#hasEnded ||= end === true;
    this.#hasUsage ||= usage === true;
    if (content || (this.#hasEnded && this.#hasUsage)) this.#state = 'begun';
    else if (work) this.#state = 'at work';
    return this.#state;
  }
}

function objectIn(data: string): JsonObject | undefined {
  try {
    const event: unknown = JSON.parse(data);
    return isObject(event) ? event : undefined;
  } catch {
    return undefined;
  }
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.every(isEmpty)) ||
  (isObject(value) && Object.values(value).every(isEmpty));

const hasCounts = (usage: unknown): boolean =>
  Object.values(maybeObject(usage)).some((count) => typeof count === 'number');

const listOf = (value: unknown): readonly JsonObject[] => maybeList(value).filter(isObject);

/** Blocks of messages that begin before the model has written anything into them. */
const WORKING_BLOCKS: ReadonlySet<unknown> = new Set(['thinking', 'server_tool_use', 'mcp_tool_use']);

function progressOfMessages(event: JsonObject): Progress {
  switch (event.type) {
    case 'ping':
      return {};
    case 'message_start': {
      const { content, usage } = maybeObject(event.message);
      return { content: !isEmpty(content), usage: hasCounts(usage) };
    }
    case 'content_block_start': {
      const { type, text, thinking, data } = maybeObject(event.content_block);
      if (type === 'text') return { content: !isEmpty(text) };
      return WORKING_BLOCKS.has(type)
        ? { content: !isEmpty(thinking) || !isEmpty(data), work: true }
        : { content: true };
    }
    case 'content_block_delta': {
      const { type: _, ...delta } = maybeObject(event.delta);
      return { content: !isEmpty(delta) };
    }
    case 'content_block_stop':
      return {};
    case 'message_delta': {
      const { stop_reason: reason } = maybeObject(event.delta);
      return {
        content: !isEmpty(reason) && reason !== 'end_turn',
        end: !isEmpty(reason),
        usage: hasCounts(event.usage),
      };
    }
    case 'message_stop':
      return { end: true };
    default:
      return { content: true };
  }
}

function progressOfChat(event: JsonObject): Progress {
  const choices = listOf(event.choices);
  const hasContent = ({ delta, message, text }: JsonObject): boolean => {
    const { role: _, ...rest } = { ...maybeObject(delta), ...maybeObject(message) };
    return !isEmpty(rest) || !isEmpty(text);
  };
  return {
    content:
      event.error !== undefined ||
      choices.some((choice) => hasContent(choice) || choice.finish_reason === 'content_filter'),
    end: choices.some(({ finish_reason: reason }) => !isEmpty(reason)),
    usage: hasCounts(event.usage),
  };
}

/** Events of responses that say where a reply is, without any of it. */
const ANNOUNCEMENTS: ReadonlySet<unknown> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.content_part.added',
  'response.reasoning_summary_part.added',
  'keepalive',
  'ping',
  'interaction.created',
  'interaction.in_progress',
  'interaction.status_update',
]);

function progressOfResponses(event: JsonObject): Progress {
  const type = event.type ?? event.event_type;
  if (ANNOUNCEMENTS.has(type)) return {};
  if (type === 'response.output_item.added') {
    const item = maybeObject(event.item);
    if (item.type === 'message') return { content: !isEmpty(item.content) };
    return item.type === 'reasoning' || String(item.type).endsWith('_call')
      ? { work: true, content: isCall(item) }
      : {};
  }
  if (type === 'response.output_item.done') return { content: isWritten(maybeObject(event.item)) };
  if (typeof type === 'string' && type.endsWith('.delta')) return { content: !isEmpty(event.delta) };
  if (typeof type === 'string' && type.endsWith('.done'))
    return { content: hasText(event) || hasText(maybeObject(event.part)) };
  if (type === 'response.completed' || type === 'response.incomplete') {
    const { output, usage } = maybeObject(event.response);
    return { content: listOf(output).some(isWritten), end: true, usage: hasCounts(usage) };
  }
  return { content: true };
}

/** An item with something in it. Messages and reasoning may be empty. */
function isWritten({ type, content, summary, encrypted_content: sealed }: JsonObject): boolean {
  if (type === 'message') return listOf(content).some(hasText);
  return type !== 'reasoning' || ![content, summary, sealed].every(isEmpty);
}

const hasText = ({ text, refusal, arguments: args, input, code, delta }: JsonObject): boolean =>
  ![text, refusal, args, input, code, delta].every(isEmpty);

/** Of a tool that the client runs. */
const isCall = ({ type }: JsonObject): boolean => type === 'function_call' || type === 'custom_tool_call';

function progressOfGenerate(event: JsonObject): Progress {
  const candidates = listOf(event.candidates);
  const parts = candidates.flatMap(({ content }) => listOf(maybeObject(content).parts));
  const reasons = candidates.flatMap(({ finishReason }) => (isEmpty(finishReason) ? [] : [finishReason]));
  return {
    content:
      event.error !== undefined ||
      !isEmpty(event.promptFeedback) ||
      parts.some(({ thought: _, thoughtSignature: __, ...part }) => !isEmpty(part)) ||
      reasons.some((reason) => reason !== 'STOP'),
    work: parts.some(({ thoughtSignature }) => !isEmpty(thoughtSignature)),
    end: reasons.length > 0,
    usage: hasCounts(event.usageMetadata),
  };
}

const PROGRESS: Readonly<Record<Dialect, (event: JsonObject) => Progress>> = {
  messages: progressOfMessages,
  chat: progressOfChat,
  responses: progressOfResponses,
  generate: progressOfGenerate,
};
