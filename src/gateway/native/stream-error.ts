/** Events that the gateway itself writes into a native stream: the error event of a truncated stream, and heartbeats. */
import { SSE_COMMENT, sse } from '../../core/index.ts';
import type { Dialect } from '../../rules/index.ts';

interface TruncatedStream {
  readonly requestId: string;
  readonly id: string | undefined;
  readonly sequence: number | undefined;
  readonly isTimeout: boolean;
}

const MESSAGE = 'The upstream closed the stream before completion.';

export const truncationEvent: Readonly<Record<Dialect, (stream: TruncatedStream) => string>> = {
  messages: ({ requestId, isTimeout }) =>
    sse(
      JSON.stringify({
        type: 'error',
        error: { type: isTimeout ? 'timeout_error' : 'api_error', message: MESSAGE },
        request_id: requestId,
      }),
      'error',
    ),
  chat: ({ isTimeout }) =>
    sse(
      JSON.stringify({
        error: {
          message: MESSAGE,
          type: 'server_error',
          param: null,
          code: isTimeout ? 'upstream_timeout' : 'upstream_error',
        },
      }),
    ),
  // Agent CLIs of this dialect ignore `error` events; `response.failed` ends their turn.
  responses: ({ id, requestId, sequence }) =>
    sse(
      JSON.stringify({
        type: 'response.failed',
        sequence_number: (sequence ?? 0) + 1,
        response: {
          id: id ?? `resp_${requestId}`,
          object: 'response',
          status: 'failed',
          error: { code: 'server_error', message: MESSAGE },
          incomplete_details: null,
          output: [],
          usage: null,
        },
      }),
      'response.failed',
    ),
  generate: ({ isTimeout }) =>
    sse(
      JSON.stringify({
        error: {
          code: isTimeout ? 504 : 502,
          message: MESSAGE,
          status: isTimeout ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE',
        },
      }),
    ),
};

/** Image streams have an `error` event of their own. */
export const imageStreamError = ({ isTimeout }: TruncatedStream): string =>
  sse(
    JSON.stringify({
      type: 'error',
      error: {
        message: MESSAGE,
        type: 'server_error',
        param: null,
        code: isTimeout ? 'upstream_timeout' : 'upstream_error',
      },
    }),
    'error',
  );

const PING = sse('{"type": "ping"}', 'ping');
export const heartbeatFor = (dialect: Dialect): string => (dialect === 'messages' ? PING : SSE_COMMENT);
