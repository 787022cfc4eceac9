/**
 * API keys: `dg-`, 256 random bits and a checksum, so that a mistyped key
 * costs no query. A configuration file may have other values.
 */
import { hash, randomBytes } from 'node:crypto';
import { KEY_CHARS } from '../rules/index.ts';
import { base62 } from './ids.ts';

const PREFIX = 'dg-';
const CHECKSUM_CHARS = 6;
const BODY = /^dg-([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;
const VISIBLE = /^[\x21-\x7e]+$/;

export function newKeyValue(): string {
  const body = base62(randomBytes(32));
  return PREFIX + body + checksum(body);
}

/** Whether the text can be a key; checks the form only. */
export function isKeyFormat(text: string): boolean {
  if (text.length < KEY_CHARS.min || text.length > KEY_CHARS.max || !VISIBLE.test(text)) return false;
  // Admin tokens; see src/access/keys/secrets.ts.
  if (text.startsWith('dga-')) return false;
  if (!text.startsWith(PREFIX)) return true;
  const match = BODY.exec(text);
  return match !== null && checksum(match[1] ?? '') === match[2];
}

/** The part of a key that lists may show. */
export const hintOf = (token: string): string => `${token.slice(0, 6)}...${token.slice(-4)}`;

const checksum = (body: string): string => base62(hash('sha256', `${PREFIX}${body}`, 'buffer')).slice(-CHECKSUM_CHARS);
