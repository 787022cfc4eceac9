/** Writing answers: JSON, errors, and the one place where a thrown thing becomes an HTTP response. */
import { ApiError, fail } from '../core/index.ts';
import type { Call } from './call.ts';

export interface RenderedError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}
export type RenderError = (error: ApiError, call: Pick<Call, 'envelope' | 'id'>) => RenderedError;

/** What every answer carries: its id, and what the call has collected on the way. */
export function idHeaders(call: Pick<Call, 'envelope' | 'id' | 'headers'>): Record<string, string> {
  return call.envelope === 'messages'
    ? { ...call.headers, 'x-request-id': call.id, 'request-id': call.id }
    : { ...call.headers, 'x-request-id': call.id };
}

export function sendJson(
  call: Call,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  call.response.writeHead(status, {
    ...idHeaders(call),
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
  });
  call.response.end(bytes);
}

/** `error` may be anything; what is not an ApiError is a bug of ours and says nothing about itself to the caller. */
export function sendError(call: Call, error: unknown, render: RenderError): void {
  const { response } = call;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const known = error instanceof ApiError ? error : fail('internal_error', undefined, { cause: error });
  const { status, headers, body } = render(known, call);
  sendJson(call, status, body, headers);
}
