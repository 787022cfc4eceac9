/** Limits of V 8 that are the same for all variants. The size of a body is `BODY_BYTES.video`. */
import { JSON_LIMITS } from '../limits.ts';

export interface NumberRange {
  readonly min: number;
  readonly max: number;
}

export const CONTENT_ITEMS: NumberRange = { min: 1, max: 64 };

/**
 * JSON values in a task body. The largest valid one has fewer than 500; a body of many small values costs time without
 * need.
 */
export const TASK_JSON_LIMITS = { depth: JSON_LIMITS.depth, tokens: 10_000 } as const;

/** GET /api/v3/contents/generations/tasks (V 4.4). */
export const TASK_LIST = {
  pageNumber: { min: 1, max: 500, default: 1 },
  pageSize: { min: 1, max: 500, default: 20 },
  maxTaskIds: 100,
} as const;

/** Lists of assets, groups, characters and `/v1/videos`. */
export const LIST_LIMIT = { min: 1, max: 100, default: 20 } as const;

/** Longest Idempotency-Key in bytes, and how long its record is kept. Records of tasks last as long as the task. */
export const IDEMPOTENCY = { keyBytes: 64, days: 30 } as const;

/**
 * Requests of one user per minute, for each kind of operation. Each operation has its own count. That of creates can be
 * set.
 */
export const VIDEO_REQUESTS_PER_MINUTE = { create: 60, read: 600, list: 60, delete: 60, refresh: 600 } as const;
export type VideoRateName = keyof typeof VIDEO_REQUESTS_PER_MINUTE;

/** The request header in which a user that is another gateway names its own user, and the longest name. */
export const END_USER_HEADER = 'x-gateway-end-user';
export const MAX_END_USER_CHARS = 64;

/** The request header of a creation with the caller's own name of the task, by which lists are filtered. */
export const LABEL_HEADER = 'x-gateway-label';
/** Visible characters, so that it can be a header. */
export const TASK_LABEL = /^[\x21-\x7e]{1,64}$/;

/**
 * Seconds after `created_at` at which a task expires when the request sets no time, and the grace for a last check (V
 * 3).
 */
export const TASK_EXPIRY_SECONDS = { default: 172_800, grace: 900 } as const;
/**
 * Equal submissions ask for expiries that differ by a second each, so that the provider's tasks can be told apart; at
 * least 1, to see that the time is heeded.
 */
export const MAX_EXPIRY_OFFSET_SECONDS = 3_600;
/** An unconfirmed submission fails after this time (V 3). */
export const SUBMISSION_TIMEOUT_SECONDS = 86_400;

/**
 * Above the usage of any video: a minute in 4k is about twelve million tokens. A larger number is treated as invalid.
 */
export const MAX_USAGE_TOKENS = 1_000_000_000;

/**
 * Usage above this many times what size and length allow, as requested and as made, goes to review: providers round up,
 * but never that much.
 */
export const USAGE_DOUBT_FACTOR = 3;

/**
 * `wait` in seconds on a read, the interval of the shared check, requests that may wait on one replica, and the longest
 * status stream in seconds.
 */
export const TASK_WAIT = {
  seconds: { min: 1, max: 60 },
  checkMs: 1_000,
  maxWaiting: 1_000,
  streamSeconds: 3_600,
} as const;

/**
 * The request header by which a read of tasks asks for signed links (`signed`) instead of addresses that need the key.
 */
export const LINK_HEADER = 'x-gateway-links';
