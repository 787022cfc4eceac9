/** Scripted provider: runs the response function of a test, for faults that the simulator does not have. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pair } from './conversion-harness.ts';

export type Respond = (response: ServerResponse) => void;

export interface Scripted {
  readonly url: string;
  /** Sets the response to every following request of the accounts of this room. */
  respondWith(room: string, respond: Respond): void;
  close(): Promise<void>;
}

export async function startScripted(): Promise<Scripted> {
  const scripts = new Map<string, Respond>();
  const server = createServer(({ headers }, response) => {
    const credential = headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key'];
    const room = /sk-upstream-(.+)-\d+$/.exec(String(credential))?.[1] ?? '';
    scripts.get(room)?.(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    respondWith: (room, respond) => void scripts.set(room, respond),
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

/** The first events of a stream with these texts. */
export const streamStart = (dialect: Dialect, ...texts: readonly string[]): string =>
  OPEN[dialect] + textEvents(dialect, ...texts);

const textEvents = (dialect: Dialect, ...texts: readonly string[]): string =>
  texts.map((text) => TEXT_EVENT[dialect](text)).join('');

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

const TEXT_EVENT: Readonly<Record<Dialect, (text: string) => string>> = {
  messages: (text) => sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  responses: (delta) => sse({ type: 'response.output_text.delta', ...AT, delta }),
  generate: (text) => sse({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] } }] }),
};

/** The last events of a stream; `text` is its whole text. */
export const streamEnd: Readonly<Record<Dialect, (text: string) => string>> = {
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

/** An error event that reports an invalid request, with this message. */
export const requestErrorEvent: Readonly<Record<Dialect, (message: string) => string>> = {
  messages: (message) => sse({ type: 'error', error: { type: 'invalid_request_error', message } }),
  responses: (message) => sse({ type: 'error', code: 'invalid_value', message, param: null }),
  generate: (message) => sse({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
};

/** An error body that names a field, where the dialect has a member for it. */
export const fieldErrorBody: Readonly<Record<Dialect, (message: string, field: string) => object>> = {
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

/** The error body of a 429. */
export const rateLimitBody = (dialect: Dialect, retryDelay: string): object =>
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
