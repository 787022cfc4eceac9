/** Capture of bodies: off unless it is switched on for one key, and bounded in time, size and age. */

export const CAPTURE = {
  maxHours: 24,
  /** Of each body; the rest is cut off. */
  bodyBytes: 256 * 1024,
  /** Of one key; further calls are not kept. */
  keyBytes: 64 * 1024 * 1024,
  retentionDays: 7,
  /** Bodies in the memory of one process; further calls are not kept. */
  memoryBytes: 32 * 1024 * 1024,
} as const;

/** Headers that a repetition of a call needs. No other header is kept: they may hold credentials. */
export const CAPTURED_HEADERS: readonly string[] = [
  'content-type',
  'accept',
  'anthropic-version',
  'anthropic-beta',
  'openai-beta',
  'x-goog-api-client',
];

/** Parameters of the query that a repetition of a call needs. No other one is kept, for the same reason. */
export const CAPTURED_PARAMETERS: readonly string[] = [
  'alt',
  'api-version',
  'beta',
  'include',
  'limit',
  'order',
  'starting_after',
  'stream',
];
