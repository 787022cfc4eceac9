/**
 * What scripts of other origins may send to the caller's API and read from its responses (CORS), when the operator
 * allows them.
 */

/** Request headers of the SDKs. A star at the end stands for any rest of the name. */
export const CORS_REQUEST_HEADERS: readonly string[] = [
  ...['authorization', 'content-type', 'x-api-key', 'anthropic-*', 'openai-*', 'x-goog-*', 'x-stainless-*'],
  ...['idempotency-key', 'x-gateway-links', 'x-gateway-label', 'x-gateway-fallback'],
  // Some browsers let SDKs set it, and then ask for it.
  'user-agent',
  'range',
];

/** Response headers that scripts may read. Stars are not possible here. */
export const CORS_RESPONSE_HEADERS: readonly string[] = [
  ...['x-request-id', 'request-id', 'retry-after', 'retry-after-ms', 'x-should-retry', 'x-ratelimit-limit-requests'],
  ...['x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests', 'x-ratelimit-limit-tokens'],
  ...['x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens', 'x-gateway-converted', 'x-gateway-dropped'],
  ...['x-gateway-fallback', 'x-gateway-token-count', 'x-gateway-upstream-model', 'content-disposition'],
  ...['content-range', 'deprecation', 'sunset', 'link'],
];

/** How long browsers keep the response to a preflight request. Chromium keeps none longer. */
export const CORS_MAX_AGE_S = 7_200;
