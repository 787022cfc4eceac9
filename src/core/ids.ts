/** Opaque prefixed ids (V 1). 128 random bits, so ids of other users' resources cannot be guessed. */
import { randomBytes } from 'node:crypto';
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
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

export const newId = (prefix: IdPrefix): string => `${prefix}_${base62(randomBytes(16))}`;

/**
 * Cheap ids, because every request needs one: a random part per process and a counter. They label log lines and must never
 * serve as a secret or a lookup key.
 */
const processPart = base62(randomBytes(9));
let counter = 0;
export const newRequestId = (): string => {
  counter = (counter + 1) % 0x1_0000_0000;
  return `req_${processPart}${counter.toString(36).padStart(7, '0')}`;
};
