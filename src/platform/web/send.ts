/** Writers of JSON and error responses. The only module that turns a thrown error into an HTTP response. */
import { type ApiError, EVENT_STREAM, toApiError } from '../../core/index.ts';
import type { Call } from './call.ts';

export interface RenderedError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}
export type RenderError = (error: ApiError, call: Pick<Call, 'errorFormat' | 'id'>) => RenderedError;

/** A proxy in between must neither collect nor recode a stream. */
export const UNBUFFERED = { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' } as const;

/** Of streams that the gateway writes itself. */
export const STREAM_HEADERS = { 'content-type': `${EVENT_STREAM}; charset=utf-8`, ...UNBUFFERED } as const;

export const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' } as const;

/** Headers of every response: the request id, and the headers collected by the call. */
export function idHeaders(call: Pick<Call, 'errorFormat' | 'id' | 'headers'>): Record<string, string> {
  return call.errorFormat === 'messages'
    ? { ...call.headers, 'x-request-id': call.id, 'request-id': call.id }
    : { ...call.headers, 'x-request-id': call.id };
}

export function sendJson(
  call: Call,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendJsonText(call, status, JSON.stringify(body), headers);
}

export function sendJsonText(
  call: Call,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(text);
  call.response.writeHead(status, {
    ...idHeaders(call),
    ...headers,
    ...JSON_HEADERS,
    'content-length': bytes.length,
  });
  call.response.end(bytes);
}

/** Sends 204: no body, and no header that would describe one. */
export function sendNoContent(call: Call): void {
  call.response.writeHead(204, idHeaders(call));
  call.response.end();
}

/** Sends `error`. A bug becomes `internal_error` without details. */
export function sendError(call: Call, error: unknown, render: RenderError): void {
  const { response } = call;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const known = toApiError(error);
  // Bodies are read after authentication, so a body that is too large is that of a known caller.
  response.readsRest = call.hasKey || known.code === 'request_too_large';
  const { status, headers, body } = render(known, call);
  sendJson(call, status, body, headers);
}
