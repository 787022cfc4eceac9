/** Streams of the four dialects in pieces: what comes before the first token, a complete reply of one word, and its parts. */
import type { Dialect } from '../../src/rules/index.ts';

export const data = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
const named = (event: { readonly type: string }): string => `event: ${event.type}\n${data(event)}`;

/** The events of a stream before its first token, and a complete reply of one word. */
export interface Wire {
  readonly announced: string;
  readonly emptyDelta: string;
  /** A complete end without a token: with usage, and without. */
  readonly emptyEnd: string;
  readonly unreportedEnd: string | undefined;
  readonly reply: string;
  /** The first token, with what comes before it. */
  readonly word: string;
  /** An error of the provider inside a stream. */
  readonly error: string;
  /** The reply in one body, whose usage comes before its last bracket. */
  readonly whole: string;
}
const usage = { input_tokens: 11, output_tokens: 3 };
export const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  data({
    id: 'c',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  });
const chatUsage = data({
  id: 'c',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [],
  usage: { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 },
});
const messageStart = named({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    usage: { input_tokens: 11, output_tokens: 0 },
  },
} as never);
const textBlock = named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never);
const textDelta = (text: string): string =>
  named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } } as never);
const messageEnd = (output: number): string =>
  named({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: output },
  } as never) + named({ type: 'message_stop' });
const response = (status: string, more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  status,
  model: 'm',
  output: [],
  ...more,
});
const created = named({ type: 'response.created', sequence_number: 0, response: response('in_progress') } as never);
const inProgress = named({
  type: 'response.in_progress',
  sequence_number: 1,
  response: response('in_progress'),
} as never);
const message = (text: string, status: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status,
  content: text === '' ? [] : [{ type: 'output_text', text, annotations: [] }],
});
const itemAdded = named({
  type: 'response.output_item.added',
  sequence_number: 2,
  output_index: 0,
  item: message('', 'in_progress'),
} as never);
const outputDelta = (delta: string): string =>
  named({
    type: 'response.output_text.delta',
    sequence_number: 3,
    output_index: 0,
    content_index: 0,
    item_id: 'msg_1',
    delta,
  } as never);
const candidate = (parts: object[], more: object = {}): string =>
  data({ candidates: [{ index: 0, content: { role: 'model', parts }, ...more }], modelVersion: 'm', responseId: 'r' });
const counts = { usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 3, totalTokenCount: 14 } };

export const WIRES: Readonly<Record<Dialect, Wire>> = {
  messages: {
    announced: messageStart + textBlock,
    emptyDelta: textDelta(''),
    emptyEnd: messageEnd(0),
    unreportedEnd: undefined,
    reply:
      messageStart +
      textBlock +
      textDelta('fig') +
      named({ type: 'content_block_stop', index: 0 } as never) +
      messageEnd(3),
    word: messageStart + textBlock + textDelta('fig'),
    error: named({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } } as never),
    whole: JSON.stringify({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'fig' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage,
    }),
  },
  chat: {
    announced: chunk({ role: 'assistant', content: '' }),
    emptyDelta: chunk({ content: '' }),
    emptyEnd: `${chunk({}, 'stop')}${chatUsage}data: [DONE]\n\n`,
    unreportedEnd: `${chunk({}, 'stop')}data: [DONE]\n\n`,
    reply: `${chunk({ role: 'assistant', content: '' })}${chunk({ content: 'fig' })}${chunk({}, 'stop')}${chatUsage}data: [DONE]\n\n`,
    word: chunk({ role: 'assistant', content: 'fig' }),
    error: data({ error: { message: 'overloaded', type: 'overloaded_error', code: 503 } }),
    whole: JSON.stringify({
      id: 'c',
      object: 'chat.completion',
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'fig' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 },
    }),
  },
  responses: {
    announced: created + inProgress + itemAdded,
    emptyDelta: outputDelta(''),
    emptyEnd: named({
      type: 'response.completed',
      sequence_number: 9,
      response: response('completed', { usage: { ...usage, total_tokens: 14 } }),
    } as never),
    unreportedEnd: named({ type: 'response.completed', sequence_number: 9, response: response('completed') } as never),
    reply:
      created +
      itemAdded +
      outputDelta('fig') +
      named({
        type: 'response.output_item.done',
        sequence_number: 4,
        output_index: 0,
        item: message('fig', 'completed'),
      } as never) +
      named({
        type: 'response.completed',
        sequence_number: 9,
        response: response('completed', {
          output: [message('fig', 'completed')],
          usage: { ...usage, total_tokens: 14 },
        }),
      } as never),
    word: created + itemAdded + outputDelta('fig'),
    error: named({
      type: 'response.failed',
      sequence_number: 9,
      response: response('failed', { error: { code: 'server_error', message: 'busy' } }),
    } as never),
    whole: JSON.stringify(
      response('completed', { output: [message('fig', 'completed')], usage: { ...usage, total_tokens: 14 } }),
    ),
  },
  generate: {
    announced: candidate([]),
    emptyDelta: candidate([{ text: '' }]),
    emptyEnd: candidate([], { finishReason: 'STOP' }).replace(
      '"modelVersion"',
      `"usageMetadata":${JSON.stringify(counts.usageMetadata)},"modelVersion"`,
    ),
    unreportedEnd: candidate([], { finishReason: 'STOP' }),
    reply:
      candidate([{ text: 'fig' }]) +
      data({
        candidates: [{ index: 0, content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP' }],
        modelVersion: 'm',
        responseId: 'r',
        ...counts,
      }),
    word: candidate([{ text: 'fig' }]),
    error: data({ error: { code: 503, status: 'UNAVAILABLE', message: 'busy' } }),
    whole: JSON.stringify({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'fig' }] }, finishReason: 'STOP' }],
      modelVersion: 'm',
      responseId: 'r',
      ...counts,
    }),
  },
};
