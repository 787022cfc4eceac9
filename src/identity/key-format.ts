/**
 * The text of an API key. Those we make are `dg-`, 256 random bits and a checksum, so that a mistyped one is refused without
 * a look-up. An operator may bring values of their own in the configuration file.
 */
import { hash, randomBytes } from 'node:crypto';
import { base62 } from '../core/index.ts';
import { KEY_CHARS } from '../rules/index.ts';

const PREFIX = 'dg-';
const CHECKSUM_CHARS = 6;
const BODY = /^dg-([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;
const VISIBLE = /^[\x21-\x7e]+$/;

export function newKeyValue(): string {
  const body = base62(randomBytes(32));
  return PREFIX + body + checksum(body);
}

/** Could this text be a key at all? */
export function isKeyFormat(text: string): boolean {
  if (text.length < KEY_CHARS.min || text.length > KEY_CHARS.max || !VISIBLE.test(text)) return false;
  // Those of administrators; see admin-token.ts.
  if (text.startsWith('dga-')) return false;
  if (!text.startsWith(PREFIX)) return true;
  const match = BODY.exec(text);
  return match !== null && checksum(match[1] ?? '') === match[2];
}

/** What people may see of a key afterwards. */
export const hintOf = (token: string): string => `${token.slice(0, 6)}...${token.slice(-4)}`;

const checksum = (body: string): string => base62(hash('sha256', `${PREFIX}${body}`, 'buffer')).slice(-CHECKSUM_CHARS);
