/**
 * Encryption of secrets at rest: AES-256-GCM under a derived key. Bound
 * to the storage location, so that no row can use another's.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { base62 } from './ids.ts';

/** Storage location of a secret, e.g. `accounts.credential:oa1`; part of the authenticated data. */
export type SealLocation = `${string}.${string}:${string}`;

/**
 * By name of the master key, the active one first. As handles: another thread can be given them, and no log shows what
 * is in them.
 */
export type SealKeys = ReadonlyMap<string, KeyObject>;

export interface Sealer {
  /** Name of the master key that seals new secrets. */
  readonly active: string;
  readonly keys: SealKeys;
  seal(secret: string, location: SealLocation): string;
  /** Throws `WrongMasterKey` when the key is unknown, the location differs, or the text was modified. */
  open(sealed: string, location: SealLocation): string;
  /** The same of bytes. */
  sealBytes(bytes: Buffer, location: SealLocation): Buffer;
  openBytes(sealed: Buffer, location: SealLocation): Buffer;
}

export class WrongMasterKey extends Error {}

const VERSION = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Longer than a version and the name of a key. */
const MAX_HEAD = 16;

/**
 * Parses `k2:...,k1:...` into ordered (name, secret) pairs. The first
 * key seals, all keys open. A value without a name is `k1`.
 */
export function parseMasterKeys(text: string): [string, string][] | undefined {
  const pairs = text.split(',').map((entry): [string, string] => {
    const [, name = 'k1', secret = ''] = /^(?:(k\d{1,6}):)?(.*)$/s.exec(entry.trim()) ?? [];
    return [name, secret];
  });
  const names = new Set(pairs.map(([name]) => name));
  return pairs.every(([, secret]) => secret.length >= 32) && names.size === pairs.length ? pairs : undefined;
}

export const newMasterKey = (): string => `k1:${base62(randomBytes(32))}`;

export const createSealer = (pairs: readonly (readonly [string, string])[]): Sealer =>
  sealerOf(new Map(pairs.map(([name, secret]) => [name, createSecretKey(derive(secret, 'dragoman-seal-v1'))])));

/** In whichever thread the keys were given to. */
export function sealerOf(keys: SealKeys): Sealer {
  const [active] = keys.keys();
  if (active === undefined) throw new TypeError('a sealer needs at least one key');
  const keyOf = (name: string): KeyObject => {
    const key = keys.get(name);
    if (!key)
      throw new WrongMasterKey(`A secret is sealed with master key "${name}", which MASTER_KEY does not contain.`);
    return key;
  };

  const encrypt = (bytes: Buffer, location: SealLocation): Buffer => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', keyOf(active), nonce);
    cipher.setAAD(Buffer.from(`${active}|${location}`));
    return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  };
  const decrypt = (version: string | undefined, name: string, bytes: Buffer, location: SealLocation): Buffer => {
    if (version !== VERSION || bytes.length < NONCE_BYTES + TAG_BYTES)
      throw new WrongMasterKey('A sealed secret is damaged.');
    const decipher = createDecipheriv('aes-256-gcm', keyOf(name), bytes.subarray(0, NONCE_BYTES));
    decipher.setAAD(Buffer.from(`${name}|${location}`));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    } catch (cause) {
      throw new WrongMasterKey(`The secret at ${location} cannot be decrypted with the master key.`, { cause });
    }
  };
  const head = `${VERSION}:${active}:`;

  return {
    active,
    keys,
    seal: (secret, location) => head + encrypt(Buffer.from(secret), location).toString('base64url'),
    open(sealed, location) {
      const [version, name = '', body = ''] = sealed.split(':');
      return decrypt(version, name, Buffer.from(body, 'base64url'), location).toString();
    },
    sealBytes: (bytes, location) => Buffer.concat([Buffer.from(head), encrypt(bytes, location)]),
    openBytes(sealed, location) {
      const [, version, name = ''] = /^(\w+):(\w+):/.exec(sealed.toString('latin1', 0, MAX_HEAD)) ?? [];
      return decrypt(version, name, sealed.subarray(`${version}:${name}:`.length), location);
    },
  };
}

/** Kept texts on the way to where they are read, which may be another thread: opening many takes long. */
export interface KeptTexts {
  readonly keys: SealKeys;
  readonly texts: readonly string[];
  /** Where each of the texts is sealed; undefined where it is not. */
  readonly locations: readonly (SealLocation | undefined)[];
}

export function openTexts({ keys, texts, locations }: KeptTexts): string[] {
  if (texts.length === 0) return [];
  const sealer = sealerOf(keys);
  return texts.map((text, n) => {
    const location = locations[n];
    return location === undefined ? text : sealer.open(text, location);
  });
}

/** What opening one text costs beside its length, in bytes that are parsed in the same time. */
const OPENING_BYTES = 1_024;

/** The size of the texts as work. */
export const workOf = ({ texts }: KeptTexts): number =>
  texts.reduce((sum, { length }) => sum + length, texts.length * OPENING_BYTES);

/** What the token of a link grants; undefined when it was not made for this place. */
export function openGrant<T>(sealer: Sealer, location: SealLocation, token: string): T | undefined {
  try {
    return JSON.parse(sealer.open(token, location));
  } catch (error) {
    if (error instanceof WrongMasterKey) return undefined;
    throw error;
  }
}

/** HKDF-SHA-256 without salt, 32 bytes; the callback secret of a key is one of these (V 6 r5). */
export const derive = (secret: string, info: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', info, 32));

export const hmac = (key: Uint8Array | string, text: string): Buffer => createHmac('sha256', key).update(text).digest();
