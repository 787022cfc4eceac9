/** An upstream that does exactly what a test tells it to, for what no well-meant simulation does. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pair } from './conversion-harness.ts';

export type Answer = (response: ServerResponse) => void;

export interface Scripted {
  readonly url: string;
  /** How every following request of an account of this room is answered. */
  answer(room: string, how: Answer): void;
  close(): Promise<void>;
}

export async function startScripted(): Promise<Scripted> {
  const answers = new Map<string, Answer>();
  const server = createServer(({ headers }, response) => {
    const credential = headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key'];
    const room = /sk-upstream-(.+)-\d+$/.exec(String(credential))?.[1] ?? '';
    answers.get(room)?.(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: (room, how) => void answers.set(room, how),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const asStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

type Dialect = Pair['upstream'];

const sse = (data: Readonly<Record<string, unknown>>): string =>
  `${data.type === undefined ? '' : `event: ${data.type}\n`}data: ${JSON.stringify(data)}\n\n`;

/** The beginning of an answer that says these words. */
export const beginning = (dialect: Dialect, ...words: readonly string[]): string =>
  OPEN[dialect] + saying(dialect, ...words);

const saying = (dialect: Dialect, ...words: readonly string[]): string =>
  words.map((word) => SAY[dialect](word)).join('');

const MESSAGE = { id: 'msg_1', role: 'assistant', model: 'x', content: [] };
const RESPONSE = { id: 'resp_1', object: 'response', status: 'in_progress', model: 'x', output: [] };
const ITEM = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
const AT = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const PART = { type: 'output_text', text: '', annotations: [] };

const OPEN: Readonly<Record<Dialect, string>> = {
  messages:
    sse({ type: 'message_start', message: { ...MESSAGE, usage: { input_tokens: 3, output_tokens: 1 } } }) +
    sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  responses:
    sse({ type: 'response.created', response: RESPONSE }) +
    sse({ type: 'response.output_item.added', output_index: 0, item: ITEM }) +
    sse({ type: 'response.content_part.added', ...AT, part: PART }),
  generate: '',
};

const SAY: Readonly<Record<Dialect, (text: string) => string>> = {
  messages: (text) => sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  responses: (delta) => sse({ type: 'response.output_text.delta', ...AT, delta }),
  generate: (text) => sse({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] } }] }),
};

/** The end of an answer that said this. */
export const ending: Readonly<Record<Dialect, (said: string) => string>> = {
  messages: () =>
    sse({ type: 'content_block_stop', index: 0 }) +
    sse({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }) +
    sse({ type: 'message_stop' }),
  responses: (text) => {
    const item = { ...ITEM, status: 'completed', content: [{ ...PART, text }] };
    const usage = { input_tokens: 3, output_tokens: 5, total_tokens: 8 };
    return (
      sse({ type: 'response.output_item.done', output_index: 0, item }) +
      sse({ type: 'response.completed', response: { ...RESPONSE, status: 'completed', output: [item], usage } })
    );
  },
  generate: () =>
    sse({
      candidates: [{ index: 0, finishReason: 'STOP', content: { role: 'model', parts: [{ text: '' }] } }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 },
    }),
};

/** An error inside a stream that blames the request, in these words. */
export const blaming: Readonly<Record<Dialect, (message: string) => string>> = {
  messages: (message) => sse({ type: 'error', error: { type: 'invalid_request_error', message } }),
  responses: (message) => sse({ type: 'error', code: 'invalid_value', message, param: null }),
  generate: (message) => sse({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
};

/** The body of a refusal that names a field, where the dialect has a place for it. */
export const naming: Readonly<Record<Dialect, (message: string, field: string) => object>> = {
  messages: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
  responses: (message, param) => ({ error: { message, type: 'invalid_request_error', param, code: 'invalid_value' } }),
  generate: (message, field) => ({
    error: {
      code: 400,
      message,
      status: 'INVALID_ARGUMENT',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field, description: message }] },
      ],
    },
  }),
};

/** The body of a refusal for being asked too often. */
export const limiting = (dialect: Dialect, retryDelay: string): object =>
  dialect === 'generate'
    ? {
        error: {
          code: 429,
          message: 'Slow down.',
          status: 'RESOURCE_EXHAUSTED',
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }],
        },
      }
    : { type: 'error', error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'Slow down.' } };
