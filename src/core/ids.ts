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
  'batch',
  'evt',
  'person',
  'warning',
  'destination',
  'notice',
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

export const newId = (prefix: IdPrefix): string => `${prefix}_${base62(randomBytes(16))}`;

const REQUEST_BYTES = 6;
/** Digits of the time in milliseconds: enough for thousands of years. */
const TIME_DIGITS = 12;
/** Random bytes for the next 512 requests: one call for all costs a tenth of a call for each. */
const pool = Buffer.allocUnsafe(512 * REQUEST_BYTES);
let used = pool.length;
let prefix = '';
let prefixAt = -1;

/**
 * Begins with the time, so that a call is found without an index of ids; the rest
 * is random, so that no id shows how many there are. Never a secret.
 */
export function newRequestId(now: number): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += REQUEST_BYTES;
  if (prefixAt !== now) {
    prefixAt = now;
    prefix = `req_${Math.max(0, Math.trunc(now)).toString(16).padStart(TIME_DIGITS, '0')}`;
  }
  return prefix + pool.toString('hex', used - REQUEST_BYTES, used);
}

const REQUEST_ID = /^req_([0-9a-f]{12})[0-9a-f]{12}$/;

/**
 * The time at which a call with this id began, in milliseconds;
 * undefined for other texts. Random for ids of earlier versions.
 */
export function requestIdTime(id: string): number | undefined {
  const [, time] = REQUEST_ID.exec(id) ?? [];
  return time === undefined ? undefined : Number.parseInt(time, 16);
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
