/** Which headers pass between client and upstream on the native path. Bodies pass as they are; headers need a list. */

/** Never sent upstream: what belongs to this hop, to the caller's credential, or to the caller's own account elsewhere. */
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
  // who called, and through whom
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'cookie',
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
  // would be checked against our account and refused, or tell the provider about the caller
  'openai-organization',
  'openai-project',
  'anthropic-workspace-id',
  'anthropic-user-profile-id',
  'x-goog-user-project',
  'x-gemini-api-privileged-user-id',
]);

/** Told to the client: what describes the answer. Limits, ids and names of our upstream account stay here. */
export const PASSED_BACK: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
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
