/** Opaque prefixed ids (V 1). 128 random bits, so ids of other users' resources cannot be guessed. */
import { randomBytes, randomFillSync } from 'node:crypto';

export const ID_PREFIXES = [
  'req',
  'key',
  'usr',
  'task',
  'asset',
  'assetgrp',
  'authsess',
  'char',
  'resp',
  'evt',
  'person',
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

export const newId = (prefix: IdPrefix): string => `${prefix}_${base62(randomBytes(16))}`;

const REQUEST_BYTES = 12;
/** Random bytes for the next 512 requests: one call for all costs a tenth of a call for each. */
const pool = Buffer.allocUnsafe(512 * REQUEST_BYTES);
let used = pool.length;

/** Random, so that an id does not show how many requests there are. They label log lines and must never serve as a secret. */
export function newRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += REQUEST_BYTES;
  return `req_${pool.toString('hex', used - REQUEST_BYTES, used)}`;
}

/** Letters and digits only, so that a double click selects the whole value. */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Encodes to a fixed width per number of bytes, so that all ids of a kind have the same length. */
export function base62(bytes: Uint8Array): string {
  const width = Math.ceil((bytes.length * 8) / Math.log2(62));
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  let text = '';
  for (; value > 0n; value /= 62n) text = ALPHABET.charAt(Number(value % 62n)) + text;
  return text.padStart(width, '0');
}
