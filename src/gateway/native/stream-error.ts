/**
 * Events that the gateway itself writes into a native stream: the error event of an unfinished stream, and heartbeats.
 */
import { type ApiError, SSE_COMMENT, sse } from '../../core/index.ts';
import { type Dialect, ERROR_TYPES, errorRow, usualStatus } from '../../rules/index.ts';

/** Why a stream ends without its end event: the provider broke off or timed out, or this server stops. */
export type StreamEnd = 'truncated' | 'timeout' | 'shutdown';

interface UnfinishedStream {
  readonly requestId: string;
  readonly id: string | undefined;
  readonly sequence: number | undefined;
  readonly end: StreamEnd | EndText;
}

interface EndText {
  readonly message: string;
  /** Of the messages dialect. */
  readonly type: string;
  readonly code: string;
  /** In `response.failed`. */
  readonly ofResponse: string;
  readonly http: number;
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
} as const satisfies Record<StreamEnd, EndText>;

const textOf = (end: StreamEnd | EndText): EndText => (typeof end === 'string' ? ENDS[end] : end);

/** Of a call that fails before its reply begins, and after its client has the head of a stream. */
export function endBy({ code, message }: ApiError): EndText {
  const http = usualStatus(errorRow(code));
  return { message, type: ERROR_TYPES.messages[http] ?? 'api_error', code, ofResponse: 'server_error', http };
}

export const streamErrorEvent: Readonly<Record<Dialect, (stream: UnfinishedStream) => string>> = {
  messages: ({ requestId, end }) =>
    sse(
      JSON.stringify({
        type: 'error',
        error: { type: textOf(end).type, message: textOf(end).message },
        request_id: requestId,
      }),
      'error',
    ),
  chat: ({ end }) =>
    sse(
      JSON.stringify({
        error: { message: textOf(end).message, type: 'server_error', param: null, code: textOf(end).code },
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
          error: { code: textOf(end).ofResponse, message: textOf(end).message },
          incomplete_details: null,
          output: [],
          usage: null,
        },
      }),
      'response.failed',
    ),
  generate: ({ end }) => {
    const { http: code, message } = textOf(end);
    const status = code === 504 ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE';
    return sse(JSON.stringify({ error: { code, message, status } }));
  },
};

export const imageErrorEvent = (code: string, message: string, param: string | null = null): string =>
  sse(JSON.stringify({ type: 'error', error: { message, type: 'server_error', param, code } }), 'error');

export const imageStreamError = ({ end }: UnfinishedStream): string =>
  imageErrorEvent(textOf(end).code, textOf(end).message);

const PING = sse('{"type": "ping"}', 'ping');
export const heartbeatFor = (dialect: Dialect): string => (dialect === 'messages' ? PING : SSE_COMMENT);
