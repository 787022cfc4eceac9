/** Limits of V 8 that are the same for all variants. The size of a body is `BODY_BYTES.video`. */
import { JSON_LIMITS } from '../limits.ts';

export interface NumberRange {
  readonly min: number;
  readonly max: number;
}

export const CONTENT_ITEMS: NumberRange = { min: 1, max: 64 };

/** JSON values in a task body. The largest valid one has fewer than 500; a body of many small values costs time without need. */
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

/** Requests of one user per minute, for each kind of operation. Each operation has its own count. */
export const VIDEO_REQUESTS_PER_MINUTE = { create: 60, read: 600, list: 60, delete: 60, refresh: 600 } as const;
export type VideoRateName = keyof typeof VIDEO_REQUESTS_PER_MINUTE;

/** Seconds after `created_at` at which a task expires when the request sets no time, and the grace for a last check (V 3). */
export const TASK_EXPIRY_SECONDS = { default: 172_800, grace: 900 } as const;
/** An unconfirmed submission fails after this time (V 3). */
export const SUBMISSION_TIMEOUT_SECONDS = 86_400;

/** Above the usage of any video: 15 seconds in 4k are about three million tokens. A larger number is treated as invalid. */
export const MAX_USAGE_TOKENS = 1_000_000_000;

/**
 * Usage above this many times what size and length allow goes to review instead of being charged: what the request was held for, and what
 * the video has that was made. Providers round up and count minimum lengths, but never that much.
 */
export const USAGE_DOUBT_FACTOR = 3;

/**
 * Waiting for a change of a task: `wait` in seconds on a read, the interval of the shared check, requests that may wait on one
 * replica, and the longest status stream in seconds.
 */
export const TASK_WAIT = {
  seconds: { min: 1, max: 60 },
  checkMs: 1_000,
  maxWaiting: 1_000,
  streamSeconds: 3_600,
} as const;

/** The request header by which a read of tasks asks for signed links (`signed`) instead of addresses that need the key. */
export const LINK_HEADER = 'x-gateway-links';
