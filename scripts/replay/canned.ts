/** The smallest response of each dialect, for requests whose response does not matter. */
import type { UpstreamDialect } from '../../src/rules/index.ts';
import { sseOf } from './events.ts';
import { type JsonRecord, jsonOf, recordOf } from './recording.ts';
import type { Received, Reply } from './upstream.ts';

const USAGE = { input_tokens: 3, output_tokens: 1 };
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'x', stop_reason: null, stop_sequence: null };
const PART = { type: 'output_text', text: 'Yes', annotations: [] };
const ITEM = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [PART] };
const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'x', output: [ITEM] };
const DONE = { ...RESPONSE, usage: { ...USAGE, total_tokens: 4 } };
const CHAT = { id: 'chatcmpl-1', created: 1, model: 'x' };
const CHAT_USAGE = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
const CANDIDATES = [{ index: 0, content: { role: 'model', parts: [{ text: 'Yes' }] }, finishReason: 'STOP' }];
const GENERATED = { candidates: CANDIDATES, usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1 } };

const REPORT = { usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 }, metrics: { latencyMs: 1 } };

const UNARY: Readonly<Record<UpstreamDialect, JsonRecord>> = {
  converse: {
    output: { message: { role: 'assistant', content: [{ text: 'Yes' }] } },
    stopReason: 'end_turn',
    ...REPORT,
  },
  messages: { ...MESSAGE, content: [{ type: 'text', text: 'Yes' }], stop_reason: 'end_turn', usage: USAGE },
  responses: DONE,
  chat: {
    ...CHAT,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Yes' }, finish_reason: 'stop' }],
    usage: CHAT_USAGE,
  },
  generate: GENERATED,
};

const STREAMS: Readonly<Record<UpstreamDialect, readonly JsonRecord[]>> = {
  converse: [
    { messageStart: { role: 'assistant' } },
    { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'Yes' } } },
    { contentBlockStop: { contentBlockIndex: 0 } },
    { messageStop: { stopReason: 'end_turn' } },
    { metadata: REPORT },
  ],
  messages: [
    { type: 'message_start', message: { ...MESSAGE, content: [], usage: USAGE } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Yes' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ],
  responses: [
    { type: 'response.created', sequence_number: 0, response: { ...RESPONSE, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...ITEM, content: [] } },
    { type: 'response.output_item.done', sequence_number: 2, output_index: 0, item: ITEM },
    { type: 'response.completed', sequence_number: 3, response: DONE },
  ],
  chat: [
    {
      ...CHAT,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content: 'Yes' }, finish_reason: null }],
    },
    { ...CHAT, object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...CHAT, object: 'chat.completion.chunk', choices: [], usage: CHAT_USAGE },
  ],
  generate: [GENERATED],
};

/** A stream where the request asks for one. */
export function cannedReply(dialect: UpstreamDialect, { target, body }: Received): Reply {
  const isStream =
    dialect === 'generate' || dialect === 'converse'
      ? /:streamGenerateContent|\/converse-stream$/.test(target)
      : recordOf(jsonOf(body.toString('utf8'))).stream === true;
  const bytes = isStream ? sseOf(dialect, STREAMS[dialect]) : Buffer.from(JSON.stringify(UNARY[dialect]));
  return { status: 200, isStream, body: bytes };
}

/** What a messages provider sends when a turn that it paused goes on and has nothing to add. */
export function endOfPause(received: Received): Reply {
  const none = { input_tokens: 0, output_tokens: 0 };
  const { isStream } = cannedReply('messages', received);
  const [start, , , , end, stop] = STREAMS.messages;
  const events = [
    { ...start, message: { ...MESSAGE, content: [], usage: none } },
    { ...end, usage: none },
    { ...stop },
  ];
  const whole = { ...UNARY.messages, content: [], usage: none };
  return { status: 200, isStream, body: isStream ? sseOf('messages', events) : Buffer.from(JSON.stringify(whole)) };
}
