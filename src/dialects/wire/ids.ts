/**
 * Ids of calls, items and responses. Pure functions: the same
 * history must give the same upstream bytes on every replay.
 */
import { hash } from 'node:crypto';
import type { UpstreamDialect } from '../../rules/index.ts';

const CALL_ID: Readonly<Record<UpstreamDialect, RegExp>> = {
  messages: /^[a-zA-Z0-9_-]+$/,
  chat: /^.{1,64}$/s,
  responses: /^.{1,64}$/s,
  generate: /^.+$/s,
  converse: /^[a-zA-Z0-9_-]{1,64}$/,
};

/**
 * Returns the id unchanged if it is valid in the target's grammar, else
 * a hash. Never truncates: two ids may share a prefix.
 */
export const callIdFor = (dialect: UpstreamDialect, id: string): string =>
  CALL_ID[dialect].test(id) ? id : `call_${digest(id, 24)}`;

const MINTED_PREFIX = 'call_gw';
export const mintCallId = (seed: string, index: number): string => `${MINTED_PREFIX}${digest(`${seed}/${index}`, 20)}`;
/**
 * Returns the upstream's call id, or a minted one if it is missing or
 * already used: the id pairs the call with its result.
 */
export function uniqueCallId(given: string | undefined, usedIds: Set<string>, seed: string): string {
  const id = given && !usedIds.has(given) ? given : mintCallId(seed, usedIds.size);
  usedIds.add(id);
  return id;
}
/** True for minted ids. They are not sent to upstreams without call ids, which pair by order and name. */
export const isMinted = (id: string): boolean => id.startsWith(MINTED_PREFIX);

/** Returns an item id of the responses dialect, derived from the response id and the item's index. */
export const itemId = (
  prefix: 'msg' | 'rs' | 'fc' | 'ctc' | 'ws' | 'ig' | 'cmp' | 'ci' | 'mcp' | 'mcpl' | 'ts' | 'tso' | 'cu',
  responseId: string,
  index: number,
): string => `${prefix}_${digest(`${responseId}/${index}`, 24)}`;

const KNOWN_PREFIX = /^(?:msg_|chatcmpl-|resp_|gen-)/;
/**
 * Returns a response id in the client's form: the client's prefix and
 * the upstream's suffix, hashed if the suffix is unusual.
 */
export function responseId(prefix: 'msg_' | 'chatcmpl-' | 'resp_' | '', upstreamId: string): string {
  const suffix = upstreamId.replace(KNOWN_PREFIX, '');
  return prefix + (/^[a-zA-Z0-9_-]{6,80}$/.test(suffix) ? suffix : digest(upstreamId, 24));
}

/**
 * Returns a tag that separates the callers' users at the provider,
 * whose account they share, without identifying them.
 */
export const userTag = (userId: string): string => digest(userId, 40);

/** Maximum length of `prompt_cache_key` in the OpenAI dialects. */
const MAX_CACHE_KEY = 64;
export const cacheKeyFor = (key: string | undefined): string | undefined =>
  key === undefined || key.length <= MAX_CACHE_KEY ? key || undefined : digest(key, 40);

/**
 * Returns the first `length` characters (at most 43) of the SHA-256
 * hash in base64url: valid in every id grammar above.
 */
export const digest = (text: string, length: number): string => hash('sha256', text, 'base64url').slice(0, length);
