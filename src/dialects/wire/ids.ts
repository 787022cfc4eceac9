/** Ids of calls and items, by pure functions: the same history must give the same upstream bytes on every replay. */
import { hash } from 'node:crypto';
import type { Dialect } from '../../rules/index.ts';

const CALL_ID: Readonly<Record<Dialect, RegExp>> = {
  messages: /^[a-zA-Z0-9_-]+$/,
  chat: /^.{1,64}$/s,
  responses: /^.{1,64}$/s,
  generate: /^.+$/s,
};

/** An id in the grammar of the target: unchanged where it fits, else a hash of it. Never cut, since two ids may share a beginning. */
export const callIdFor = (dialect: Dialect, id: string): string =>
  CALL_ID[dialect].test(id) ? id : `call_${digest(id, 24)}`;

const MINTED = 'call_gw';
/** For a call that the upstream gave no id. */
export const mintCallId = (seed: string, index: number): string => `${MINTED}${digest(`${seed}/${index}`, 20)}`;
/** The id of a call in an answer, or one of ours where it is missing or was used before: it pairs the call with its result. */
export function freshCallId(given: string | undefined, taken: Set<string>, seed: string): string {
  const id = given && !taken.has(given) ? given : mintCallId(seed, taken.size);
  taken.add(id);
  return id;
}
/** Minted ids mean nothing to the upstream that gave none; it pairs by order and name. */
export const isMinted = (id: string): boolean => id.startsWith(MINTED);

/** Item handles of the responses dialect: derived from the response and the place in it. */
export const itemId = (
  prefix: 'msg' | 'rs' | 'fc' | 'ctc' | 'ws' | 'ig' | 'cmp',
  responseId: string,
  index: number,
): string => `${prefix}_${digest(`${responseId}/${index}`, 24)}`;

const KNOWN_PREFIX = /^(?:msg_|chatcmpl-|resp_|gen-)/;
/** An answer's id in the client's form: another prefix on the upstream's own suffix where that is safe to show. */
export function responseId(prefix: 'msg_' | 'chatcmpl-' | 'resp_' | '', upstreamId: string): string {
  const suffix = upstreamId.replace(KNOWN_PREFIX, '');
  return prefix + (/^[a-zA-Z0-9_-]{6,80}$/.test(suffix) ? suffix : digest(upstreamId, 24));
}

/** A caller's user for an upstream: told apart from others, never told who it is. The account upstream is shared. */
export const userTag = (userId: string): string => digest(userId, 40);

const MAX_KEY = 64;
/** A prompt-cache key as the OpenAI dialects take it. */
export const cacheKeyFor = (key: string | undefined): string | undefined =>
  key === undefined || key.length <= MAX_KEY ? key || undefined : digest(key, 40);

export const digest = (text: string, length: number): string => base32(hash('sha256', text, 'buffer')).slice(0, length);

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
function base32(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32.charAt((value >> bits) & 31);
    }
  }
  return text;
}
