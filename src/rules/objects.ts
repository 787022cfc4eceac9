/**
 * What callers keep under an id of its own: the view `kept_objects` has the rows. Objects that providers keep for them.
 */

export const KEPT_KINDS = ['file', 'batch', 'conversation', 'cache', 'container'] as const;
export type KeptKind = (typeof KEPT_KINDS)[number];

const HOUR_S = 3_600;

export const CACHED_CONTENTS = {
  /** Of Google, for one without a lifetime. */
  defaultSeconds: HOUR_S,
  /** It is paid in advance, and what it costs must stay countable. */
  maxSeconds: 7 * 24 * HOUR_S,
  /** Of a user. */
  perUser: 1_000,
  /** What a provider says of one. */
  shownBytes: 64 * 1024,
} as const;

/** Of OpenAI. */
export const CONTAINERS = {
  id: /^cntr_[\w-]{1,200}$/,
  /** One that nothing has used for so long is gone. */
  idleMinutes: 20,
} as const;

/** As requests and replies name one. */
export const CACHED_CONTENT_NAME = /^cachedContents\/([\w-]{1,200})$/;
