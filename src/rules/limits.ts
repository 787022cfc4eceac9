/** The numbers of G 8 and V 8 that belong to no other table, and the limits this gateway sets itself; each with its reason. */
import type { TextOperation } from './endpoints.ts';

const MIB = 2 ** 20;

/** Largest body after decoding, by kind of operation. "MB" in the documents is 2^20 bytes. */
export const BODY_BYTES = { text: 32 * MIB, image: 64 * MIB, video: 64 * MIB, small: MIB } as const;
export type BodyClass = keyof typeof BODY_BYTES;

export const BODY_CLASS: Partial<Record<TextOperation, BodyClass>> = {
  'images.generate': 'image',
  'images.edit': 'image',
};

/** JSON that is deeper or busier than this is refused before it is parsed: parsing it would stall every other request. */
export const JSON_LIMITS = {
  /** `JSON.stringify` overflows the stack somewhere above 1,000 levels; tool schemas stay below 60. */
  depth: 128,
  /** Commas, colons and brackets. An embeddings call with 300,000 token numbers is the busiest honest body. */
  tokens: 1_000_000,
  /** What is shorter cannot be busy enough to matter. */
  harmlessChars: 64 * 1024,
} as const;

/** Headers of one request, all together. */
export const HEADER_BYTES = 32 * 1024;

/** A multipart body (G 4.8): more parts than any image edit has, no endless field. */
export const MULTIPART = { parts: 20, fieldBytes: 64 * 1024 } as const;

/** Milliseconds an upstream gets. Long thinking is honest silence before the first byte of a unary answer. */
export interface Timeouts {
  readonly connect: number;
  readonly firstByte: number;
  readonly idle: number;
  readonly total: number;
}
const HOUR = 3_600_000;
export const TIMEOUTS = {
  unary: { connect: 5_000, firstByte: 600_000, idle: 300_000, total: HOUR },
  stream: { connect: 5_000, firstByte: 120_000, idle: 300_000, total: HOUR },
  /** 4K images take 3-5 minutes (G 4.9 r4). */
  image: { connect: 5_000, firstByte: 600_000, idle: 600_000, total: HOUR },
  count: { connect: 5_000, firstByte: 30_000, idle: 30_000, total: 60_000 },
} as const satisfies Record<string, Timeouts>;
export type TimeoutsName = keyof typeof TIMEOUTS;

/** Silence on a stream after which a heartbeat is sent; proxies in between cut at 30-100 s. */
export const HEARTBEAT_MS = 15_000;
/** A client that takes nothing for this long is gone. */
export const STALLED_CLIENT_MS = 60_000;

/** An answer that is complete but for its usage waits so long for it; some upstreams then neither report nor close. */
export const USAGE_GRACE_MS = 1_000;

/** A change made on one replica is in force on every other one after at most this. */
export const PROPAGATION_MS = 5_000;

/** Our own key value: anything shorter could be guessed, anything longer is no key. */
export const KEY_CHARS = { min: 20, max: 256 } as const;

/** Ids of users, chosen by operators. */
export const USER_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
