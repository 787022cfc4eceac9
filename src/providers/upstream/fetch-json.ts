/** Small JSON requests to a provider (model lists, token counts). Not for the request path. */
import type { UpstreamClient, UpstreamRequest } from './client.ts';

export interface JsonResult {
  readonly status: number;
  readonly body: unknown;
}

const MAX_BYTES = 8 * 2 ** 20;

/** Undefined when the request fails or the body is not JSON. */
export function fetchJson(
  upstream: UpstreamClient,
  request: UpstreamRequest,
  maxBytes = MAX_BYTES,
): Promise<JsonResult | undefined> {
  const { promise, resolve } = Promise.withResolvers<JsonResult | undefined>();
  const chunks: Buffer[] = [];
  let size = 0;
  let status = 0;
  const exchange = upstream.send(request, {
    onHead(code) {
      status = code;
    },
    onData(chunk) {
      size += chunk.length;
      if (size > maxBytes) {
        exchange.abort();
        resolve(undefined);
      }
      chunks.push(chunk);
      return true;
    },
    onEnd: () => resolve(parse(status, Buffer.concat(chunks).toString('utf8'))),
    onError: () => resolve(undefined),
  });
  return promise;
}

function parse(status: number, text: string): JsonResult | undefined {
  try {
    return { status, body: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
