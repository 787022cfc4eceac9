/** Small JSON requests to a provider (model lists, token counts). Not for the request path. */
import { valueOfJson } from '../../core/index.ts';
import { wholeResponse } from '../../platform/http/index.ts';
import type { UpstreamClient, UpstreamRequest } from './client.ts';

export interface JsonResult {
  readonly status: number;
  readonly body: unknown;
}

const MAX_BYTES = 8 * 2 ** 20;

/** Undefined when the request fails or the body is not JSON. */
export async function fetchJson(
  upstream: UpstreamClient,
  request: UpstreamRequest,
  maxBytes = MAX_BYTES,
): Promise<JsonResult | undefined> {
  const response = await wholeResponse(upstream, request, maxBytes);
  if ('code' in response) return undefined;
  const body = valueOfJson(response.body.toString('utf8'));
  return body === undefined ? undefined : { status: response.status, body };
}
