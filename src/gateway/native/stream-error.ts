/** Events that the gateway itself writes into a native stream: the error event of an unfinished stream, and heartbeats. */
import { SSE_COMMENT, sse } from '../../core/index.ts';
import type { Dialect } from '../../rules/index.ts';

/** Why a stream ends without its end event: the provider broke off or timed out, or this server stops. */
export type StreamEnd = 'truncated' | 'timeout' | 'shutdown';

interface UnfinishedStream {
  readonly requestId: string;
  readonly id: string | undefined;
  readonly sequence: number | undefined;
  readonly end: StreamEnd;
}

const TRUNCATED = 'The upstream closed the stream before completion.';
const MESSAGES: Readonly<Record<StreamEnd, string>> = {
  truncated: TRUNCATED,
  timeout: TRUNCATED,
  shutdown: 'The server is restarting; send the request again.',
};

const MESSAGES_TYPES = { truncated: 'api_error', timeout: 'timeout_error', shutdown: 'overloaded_error' } as const;
const CHAT_CODES = { truncated: 'upstream_error', timeout: 'upstream_timeout', shutdown: 'shutting_down' } as const;
const RESPONSES_CODES = {
  truncated: 'server_error',
  timeout: 'server_error',
  shutdown: 'server_is_overloaded',
} as const;
const GENERATE_STATUSES = {
  truncated: { code: 502, status: 'UNAVAILABLE' },
  timeout: { code: 504, status: 'DEADLINE_EXCEEDED' },
  shutdown: { code: 503, status: 'UNAVAILABLE' },
} as const;

export const streamErrorEvent: Readonly<Record<Dialect, (stream: UnfinishedStream) => string>> = {
  messages: ({ requestId, end }) =>
    sse(
      JSON.stringify({
        type: 'error',
        error: { type: MESSAGES_TYPES[end], message: MESSAGES[end] },
        request_id: requestId,
      }),
      'error',
    ),
  chat: ({ end }) =>
    sse(
      JSON.stringify({
        error: { message: MESSAGES[end], type: 'server_error', param: null, code: CHAT_CODES[end] },
      }),
    ),
  // Agent CLIs of this dialect ignore `error` events; `response.failed` ends their turn.
  responses: ({ id, requestId, sequence, end }) =>
    sse(
      JSON.stringify({
        type: 'response.failed',
        sequence_number: sequence === undefined ? 0 : sequence + 1,
        response: {
          id: id ?? `resp_${requestId}`,
          object: 'response',
          status: 'failed',
          error: { code: RESPONSES_CODES[end], message: MESSAGES[end] },
          incomplete_details: null,
          output: [],
          usage: null,
        },
      }),
      'response.failed',
    ),
  generate: ({ end }) => {
    const { code, status } = GENERATE_STATUSES[end];
    return sse(JSON.stringify({ error: { code, message: MESSAGES[end], status } }));
  },
};

export const imageErrorEvent = (code: string, message: string, param: string | null = null): string =>
  sse(JSON.stringify({ type: 'error', error: { message, type: 'server_error', param, code } }), 'error');

export const imageStreamError = ({ end }: UnfinishedStream): string => imageErrorEvent(CHAT_CODES[end], MESSAGES[end]);

const PING = sse('{"type": "ping"}', 'ping');
export const heartbeatFor = (dialect: Dialect): string => (dialect === 'messages' ? PING : SSE_COMMENT);
