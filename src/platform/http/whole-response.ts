/** One request and its whole response, held in memory. Failures are values. */
import type { Exchange, HttpRequest, ResponseListener, TransportError } from './client.ts';
import type { HttpHeaders } from './headers.ts';

export interface WholeResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: Buffer;
}

/** A response above `maxBytes` ends with the code TOO_LARGE. */
export function wholeResponse<R extends HttpRequest>(
  client: { send(request: R, listener: ResponseListener): Exchange },
  request: R,
  maxBytes: number,
): Promise<WholeResponse | TransportError> {
  const { promise, resolve } = Promise.withResolvers<WholeResponse | TransportError>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let head: Omit<WholeResponse, 'body'> = { status: 0, headers: {} };
  const exchange = client.send(request, {
    onHead(status, headers) {
      head = { status, headers };
    },
    onData(chunk) {
      bytes += chunk.length;
      if (bytes <= maxBytes) return chunks.push(chunk) > 0;
      exchange.abort();
      resolve({ kind: 'failed', code: 'TOO_LARGE' });
      return false;
    },
    onEnd: () => resolve({ ...head, body: Buffer.concat(chunks) }),
    onError: resolve,
  });
  return promise;
}
