/** Opaque prefixed ids (V 1). 128 random bits, so ids of other users' resources cannot be guessed. */
import { randomBytes, randomFillSync } from 'node:crypto';
import { base62 } from './base62.ts';

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
