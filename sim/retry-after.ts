/** Values of the header `retry-after` that are not a plain number of seconds. */

/** The header of a 429, where it is not a number of seconds. `none` sends no header. */
export const RETRY_AFTER = {
  none: () => undefined,
  date: () => new Date(Date.now() + 12_000).toUTCString(),
  past: () => new Date(Date.now() - 60_000).toUTCString(),
  negative: () => '-5',
  garbage: () => 'soon',
  huge: () => '99999999999',
} as const;
export type RetryAfterWord = keyof typeof RETRY_AFTER;
