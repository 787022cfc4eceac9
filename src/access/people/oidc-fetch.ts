/** The requests of the OpenID client, sent by the HTTP client of the gateway: with its time limits, its proxies and a limit of bytes. */

import type { UpstreamClient } from '../../providers/upstream/index.ts';
import { TIMEOUTS } from '../../rules/index.ts';

export interface OidcRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Metadata, keys and tokens are some kilobytes. */
const MAX_BYTES = 2 ** 20;

export function oidcFetch(upstream: UpstreamClient, address: string, request: OidcRequest): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const { origin, pathname, search } = new URL(address);
  const chunks: Buffer[] = [];
  let size = 0;
  let status = 0;
  let type = '';
  const body = request.body === undefined || request.body === null ? null : String(request.body);
  const exchange = upstream.send(
    {
      method: request.method === 'POST' ? 'POST' : 'GET',
      origin,
      path: pathname + search,
      headers: Object.entries(request.headers).flatMap(([name, value]) => [name.toLowerCase(), value]),
      body,
      timeouts: TIMEOUTS.oidc,
    },
    {
      onHead(code, received) {
        status = code;
        type = received['content-type'] ?? '';
      },
      onData(chunk) {
        size += chunk.length;
        chunks.push(chunk);
        if (size <= MAX_BYTES) return true;
        exchange.abort();
        reject(new Error('the response of the OpenID provider is too large'));
        return false;
      },
      onEnd: () => resolve(new Response(Buffer.concat(chunks), { status, headers: { 'content-type': type } })),
      onError: ({ kind, code }) => reject(new Error(`the OpenID provider cannot be reached: ${kind} ${code}`)),
    },
  );
  return promise;
}
