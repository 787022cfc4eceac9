/**
 * The one place that assembles a request to a provider:
 * of native and converted calls, of counts and lists, of probes and tests of accounts.
 */
import type { Account, Group } from '../catalog/index.ts';
import { credentialHeaders, locateUpstream, type UpstreamRequest } from '../providers/upstream/index.ts';
import * as rules from '../rules/index.ts';

export interface SentRequest extends Pick<UpstreamRequest, 'method' | 'body' | 'timeouts'> {
  /** Of the provider's own API; that of the account's server follows from its base URL or its cloud. */
  readonly path: string;
  readonly model?: string;
  readonly headers: readonly string[];
  /**
   * `once`: on an idle connection that the provider is closing, it would stay unknown whether it received the request.
   */
  readonly sends?: 'again' | 'once';
}

export const upstreamRequest = (
  style: rules.Style,
  account: Account,
  { method, path, model, headers, body, timeouts, sends = 'again' }: SentRequest,
): UpstreamRequest => ({
  method,
  ...locateUpstream(style, account, path, model),
  headers: [...headers, ...credentialHeaders(style, account)],
  body,
  timeouts,
  proxy: account.proxy,
  connection: sends === 'once' ? 'new' : 'any',
});

/**
 * What a provider keeps for a caller: `reply` is a stored response,
 * or an interaction; `file` is one that code of a messages reply made.
 */
export type HeldKind = 'reply' | 'cache' | 'container' | 'file';

const FILES_BETA = ['anthropic-version', rules.DEFAULT_MESSAGES_VERSION, 'anthropic-beta', 'files-api-2025-04-14'];

export function heldRequest(
  method: 'GET' | 'DELETE',
  style: Group['style'] | undefined,
  account: Account,
  { kind, id }: { readonly kind: HeldKind; readonly id: string },
): UpstreamRequest {
  const isGoogle = style === 'generate-content';
  const replies = isGoogle ? 'v1beta/interactions' : 'v1/responses';
  const list = { reply: replies, cache: 'v1beta/cachedContents', container: 'v1/containers', file: 'v1/files' }[kind];
  const dialect = isGoogle ? style : 'responses';
  return upstreamRequest(kind === 'file' ? 'messages' : dialect, account, {
    method,
    path: `/${list}/${encodeURIComponent(id)}`,
    headers: ['accept-encoding', 'identity', ...(kind === 'file' ? FILES_BETA : [])],
    body: null,
    timeouts: rules.TIMEOUTS.count,
  });
}

export const UPSTREAM_PATHS: Readonly<Record<rules.UpstreamDialect, (model: string, isStream: boolean) => string>> = {
  messages: () => '/v1/messages',
  chat: () => '/v1/chat/completions',
  responses: () => '/v1/responses',
  generate: (model, isStream) =>
    `/v1beta/models/${encodeURIComponent(model)}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  converse: (model, isStream) => `/model/${encodeURIComponent(model)}/converse${isStream ? '-stream' : ''}`,
};

/** Of a request that the gateway encodes itself. */
export const encodedHeaders = (headers: Readonly<Record<string, string>>): string[] => [
  ...['content-type', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'dragoman'],
  ...Object.entries(headers).flat(),
];

export function timeoutsFor(operation: rules.InferenceOperation, isStream: boolean): UpstreamRequest['timeouts'] {
  const { timeouts } = rules.inferenceRow(operation);
  if (timeouts === 'image' || timeouts === 'count') return rules.TIMEOUTS[timeouts];
  return isStream ? rules.TIMEOUTS.stream : rules.TIMEOUTS.unary;
}

/** Another line can take the call, so that a silent provider is not awaited as long. */
export const shortened = (timeouts: UpstreamRequest['timeouts']): UpstreamRequest['timeouts'] => {
  const { stream, unary } = rules.FALLBACK.firstByteMs;
  return { ...timeouts, firstByte: Math.min(timeouts.firstByte, timeouts === rules.TIMEOUTS.stream ? stream : unary) };
};
