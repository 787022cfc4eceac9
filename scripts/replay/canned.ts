/** The smallest response of each dialect, for requests whose response does not matter. */
import type { UpstreamDialect } from '../../src/rules/index.ts';
import { streamOf } from '../../test/laws/reply-stream.ts';
import type { ReceivedRequest } from '../../test/support/canned.ts';
import { sseOf } from './events.ts';
import type { Reply } from './lanes.ts';
import { isRecord, type JsonRecord, jsonOf, recordOf } from './recording.ts';

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

/** Converse names an event by its only member. */
const streamed = (dialect: UpstreamDialect, body: JsonRecord): Buffer =>
  sseOf(
    dialect,
    streamOf(dialect, { ...body })
      .map(({ event, data }) => (dialect === 'converse' && event ? { [event]: data } : data))
      .filter(isRecord),
  );

function replyWith(dialect: UpstreamDialect, { target, body }: ReceivedRequest, whole: JsonRecord): Reply {
  const isStream =
    dialect === 'generate' || dialect === 'converse'
      ? /:streamGenerateContent|\/converse-stream$/.test(target)
      : recordOf(jsonOf(body.toString('utf8'))).stream === true;
  return { status: 200, isStream, body: isStream ? streamed(dialect, whole) : Buffer.from(JSON.stringify(whole)) };
}

/** A stream where the request asks for one. */
export const cannedReply = (dialect: UpstreamDialect, received: ReceivedRequest): Reply =>
  replyWith(dialect, received, UNARY[dialect]);

/** What a messages provider sends when a turn that it paused goes on and has nothing to add. */
export const endOfPause = (received: ReceivedRequest): Reply =>
  replyWith('messages', received, { ...UNARY.messages, content: [], usage: { input_tokens: 0, output_tokens: 0 } });
