/** Streams of Messages events. */
import { anthropicError, statusFailure } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import type { Frame, Stream } from '../frames.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../json.ts';
import { splitArguments, splitWords } from '../stream.ts';

/** Splits a complete message into events. */
export function messageStream(exchange: Exchange, message: JsonObject): Stream {
  return {
    frames: frames(message),
    failure: () => {
      const error = anthropicError(statusFailure('anthropic', exchange.fault, 529));
      return [frame('error', { error, request_id: exchange.requestId })];
    },
  };
}

function frame(event: string, data: JsonObject, flags: Partial<Frame> = {}): Frame {
  return { event, data: JSON.stringify({ type: event, ...data }), ...flags };
}

function* frames(message: JsonObject): Generator<Frame> {
  const usage = message.usage && objectOf(message.usage);
  yield frame('message_start', {
    message: {
      ...message,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: usage && {
        ...usage,
        output_tokens: Math.min(1, Number(usage.output_tokens)),
        output_tokens_details: null,
      },
    },
  });
  yield frame('ping', {});
  for (const [index, block] of objectsOf(message.content).entries()) yield* blockFrames(index, block);
  const { stop_reason, stop_sequence, stop_details } = message;
  const delta = { stop_reason, stop_sequence, stop_details, container: null };
  yield frame('message_delta', { delta, usage: usage && deltaUsage(usage) }, { last: true });
  yield frame('message_stop', {}, { last: true });
}

function* blockFrames(index: number, block: JsonObject): Generator<Frame> {
  const start = (content_block: JsonObject) => frame('content_block_start', { index, content_block });
  const delta = (value: JsonObject) => frame('content_block_delta', { index, delta: value }, { content: true });
  if (block.type === 'text') {
    yield start({ type: 'text', text: '' });
    for (const text of splitWords(textOf(block.text))) yield delta({ type: 'text_delta', text });
  } else if (block.type === 'thinking') {
    yield start({ ...block, thinking: '', signature: '' });
    for (const thinking of splitWords(textOf(block.thinking))) yield delta({ type: 'thinking_delta', thinking });
    yield delta({ type: 'signature_delta', signature: block.signature });
  } else if (block.type === 'tool_use') {
    yield start({ ...block, input: {} });
    yield delta({ type: 'input_json_delta', partial_json: '' });
    for (const json of splitArguments(JSON.stringify(block.input)))
      yield delta({ type: 'input_json_delta', partial_json: json });
  } else {
    yield start(block);
  }
  yield frame('content_block_stop', { index });
}

function deltaUsage(usage: JsonObject): JsonObject {
  return {
    input_tokens: usage.input_tokens,
    cache_creation_input_tokens: usage.cache_creation_input_tokens,
    cache_read_input_tokens: usage.cache_read_input_tokens,
    output_tokens: usage.output_tokens,
    output_tokens_details: usage.output_tokens_details,
    server_tool_use: usage.server_tool_use,
  };
}
