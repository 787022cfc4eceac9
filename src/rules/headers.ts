/** Headers that pass between client and provider on the native path. Bodies pass as they are; headers need a list. */

/** Never sent upstream: hop-by-hop headers, the caller's credential, and ids of the caller's own provider account. */
export const NOT_FORWARDED: ReadonlySet<string> = new Set([
  // this hop
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'content-length',
  'content-encoding',
  'accept-encoding',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
  // the caller and the proxies before us
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'cookie',
  'x-csrf-token',
  'x-dragoman-key',
  'x-gateway-fallback',
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
  'origin',
  'referer',
  // the provider would check them against our account and reject the request, or learn about the caller
  'openai-organization',
  'openai-project',
  'anthropic-workspace-id',
  'anthropic-user-profile-id',
  'anthropic-organization-id',
  'x-claude-gateway-user-id',
  'x-claude-gateway-user-email',
  'x-goog-user-project',
  'x-gemini-api-privileged-user-id',
  'x-goog-quota-user',
  'x-goog-iam-authorization-token',
  // the provider would return a part of the response, or none
  'range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'if-range',
]);

/**
 * Rejected on native generate-content calls: they change the method or form of the response, so that client or charge
 * cannot read it.
 */
export const REFUSED_BY_GENERATE: readonly string[] = [
  'x-goog-fieldmask',
  'x-goog-encode-response-if-executable',
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
];

/**
 * Returned to the client: headers that describe the response. Limits, ids and names of our upstream account are
 * removed.
 */
export const PASSED_BACK: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'content-disposition',
  'cache-control',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'openai-processing-ms',
  'openai-version',
  'openai-model',
  'x-reasoning-included',
  'x-models-etag',
  'x-codex-turn-state',
]);

/**
 * Sent when the caller names no version: the provider rejects messages requests without one, and curl users forget it.
 */
export const DEFAULT_MESSAGES_VERSION = '2023-06-01';
