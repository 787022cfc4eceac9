/**
 * Where a streamed reply stands: after the end of its content usage follows within moments.
 * Some signals, such as the end of a block, may be followed by more.
 */
import { isObject, type JsonObject, maybeList, maybeObject } from '../../dialects/index.ts';
import type { UpstreamDialect } from '../../rules/index.ts';

/** `undefined` for events that say nothing, such as pings and usage. */
export type ReplyPhase = 'content' | 'finished' | undefined;

const listOf = (value: unknown): readonly JsonObject[] => maybeList(value).filter(isObject);
const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

const MESSAGES: Readonly<Record<string, ReplyPhase>> = {
  message_start: 'content',
  content_block_start: 'content',
  content_block_delta: 'content',
  content_block_stop: 'finished',
  message_delta: 'finished',
  message_stop: 'finished',
};

const DONE = /^response\.(?:output_text|refusal|content_part|function_call_arguments|custom_tool_call_input)\.done$/;
const TERMINAL = /^response\.(?:completed|incomplete|failed|cancelled|done)$/;
/** Items that a reply never ends with: the model works on. */
const UNFINISHED_ITEM = /^(?:reasoning|web_search_call|file_search_call|code_interpreter_call|mcp_)/;

function responsesPhase({ type, item }: JsonObject): ReplyPhase {
  const name = String(type ?? '');
  if (DONE.test(name) || TERMINAL.test(name)) return 'finished';
  if (name === 'response.output_item.done')
    return UNFINISHED_ITEM.test(String(maybeObject(item).type ?? '')) ? 'content' : 'finished';
  return name.startsWith('response.') ? 'content' : undefined;
}

const PHASES: Readonly<Record<UpstreamDialect, (event: JsonObject) => ReplyPhase>> = {
  messages: ({ type }) => MESSAGES[String(type)],
  chat({ choices }) {
    const list = listOf(choices);
    if (list.length === 0) return undefined;
    return list.some(({ finish_reason: reason }) => isGiven(reason)) ? 'finished' : 'content';
  },
  responses: responsesPhase,
  generate({ candidates, promptFeedback }) {
    const list = listOf(candidates);
    if (list.some(({ finishReason: reason }) => isGiven(reason)) || isGiven(promptFeedback)) return 'finished';
    return list.length === 0 ? undefined : 'content';
  },
  converse({ delta, start, contentBlockIndex: index, stopReason }) {
    if (isGiven(delta) || isGiven(start)) return 'content';
    return isGiven(stopReason) || isGiven(index) ? 'finished' : undefined;
  },
};

export const replyPhase = (dialect: UpstreamDialect, event: unknown): ReplyPhase =>
  isObject(event) ? PHASES[dialect](event) : undefined;
