/**
 * Events that the gateway itself writes into a native stream: the error event of an unfinished stream, and heartbeats.
 */
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

const BROKEN = { message: 'The upstream closed the stream before completion.', ofResponse: 'server_error' } as const;
const ENDS = {
  truncated: { ...BROKEN, type: 'api_error', code: 'upstream_error', http: 502 },
  timeout: { ...BROKEN, type: 'timeout_error', code: 'upstream_timeout', http: 504 },
  shutdown: {
    message: 'The server is restarting; send the request again.',
    type: 'overloaded_error',
    code: 'shutting_down',
    ofResponse: 'server_is_overloaded',
    http: 503,
  },
} as const satisfies Record<StreamEnd, object>;

export const streamErrorEvent: Readonly<Record<Dialect, (stream: UnfinishedStream) => string>> = {
  messages: ({ requestId, end }) =>
    sse(
      JSON.stringify({
        type: 'error',
        error: { type: ENDS[end].type, message: ENDS[end].message },
        request_id: requestId,
      }),
      'error',
    ),
  chat: ({ end }) =>
    sse(
      JSON.stringify({
        error: { message: ENDS[end].message, type: 'server_error', param: null, code: ENDS[end].code },
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
          error: { code: ENDS[end].ofResponse, message: ENDS[end].message },
          incomplete_details: null,
          output: [],
          usage: null,
        },
      }),
      'response.failed',
    ),
  generate: ({ end }) => {
    const { http: code, message } = ENDS[end];
    const status = code === 504 ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE';
    return sse(JSON.stringify({ error: { code, message, status } }));
  },
};

export const imageErrorEvent = (code: string, message: string, param: string | null = null): string =>
  sse(JSON.stringify({ type: 'error', error: { message, type: 'server_error', param, code } }), 'error');

export const imageStreamError = ({ end }: UnfinishedStream): string =>
  imageErrorEvent(ENDS[end].code, ENDS[end].message);

const PING = sse('{"type": "ping"}', 'ping');
export const heartbeatFor = (dialect: Dialect): string => (dialect === 'messages' ? PING : SSE_COMMENT);
