/** Numbers of the account pool: circuits, failover, the retry budget, sessions, and the queue for slots. */
import type { TimeoutClass } from './endpoints.ts';

/** When failures eject an account for one use, and for how long. A single failure never does. */
export const CIRCUIT = {
  failuresInRow: 5,
  /** Also ejected: this share of at least so many attempts failed within the window. */
  failureShare: 0.5,
  minAttempts: 20,
  windowMs: 30_000,
  /** The n-th ejection lasts n times as long, up to the maximum. */
  ejectionMs: 30_000,
  maxEjectionMs: 600_000,
  /** Varied by this share, so that replicas and accounts do not return at the same moment. */
  jitter: 0.2,
  /** After this time without an ejection, the next one is a first one again. */
  forgetMs: 600_000,
  /** Of a group's usable accounts, at most this share is ejected. */
  ejectedShare: 0.5,
  /**
   * Recent failures in a row count as load: an account that fails fast has few requests in flight and would attract
   * more.
   */
  penaltyMs: 10_000,
} as const;

/** Caps a provider's retry-after, which may be wrong; one failed attempt per hour is cheap. */
export const MAX_COOLDOWN_MS = 3_600_000;

/** The retry-after of clients while every account is parked: only an operator can end it. */
export const PARKED_RETRY_MS = 300_000;

export const FAILOVER = {
  /** Accounts that one call tries, over all dialects. */
  attempts: 3,
  /** No further attempt begins after this time: a client that waits longer has usually given up. */
  withinMs: { reply: 60_000, image: 60_000, count: 10_000, none: 30_000 } as const satisfies Record<
    TimeoutClass,
    number
  >,
} as const;

/** Further attempts of one process, so that a bad day of the providers does not triple their load. */
export const RETRY_BUDGET = {
  windowMs: 10_000,
  share: 0.2,
  /** Always allowed within the window, for servers with little traffic. */
  floor: 100,
} as const;

/**
 * A session stays with its account while the account has fewer requests than this, or than a multiple of its fair
 * share.
 */
export const SESSION_LOAD = { min: 8, fairShares: 1.5 } as const;

/**
 * How many calls at once an account takes for which the operator names no number, once its provider has refused some.
 */
export const LEARNED_LIMIT = {
  /** A refusal with fewer calls in flight is about something else, such as tokens a minute: it cools the account down, and teaches no limit. */
  fewCalls: 16,
  /** Of the calls in flight at a refusal. */
  shrink: 0.5,
  /** Calls more for each success: an eighth in the time that all calls in flight take. */
  growth: 0.125,
  /** Forgotten at this multiple of the calls in flight at the refusal, or so long after it. */
  forgottenAt: 2,
  forgetMs: 600_000,
} as const;

/** Calls that wait for a free slot while all usable accounts are full. */
export const ACCOUNT_QUEUE = {
  /** By default, and at most: what a client waits without a word for a reply that is no stream. */
  waitMs: 30_000,
  mostMs: 60_000,
  /** The client of a stream gets a head and heartbeats: many clients and proxies close a connection that is silent for 10 to 15 s. */
  heartbeatMs: 8_000,
  /** While a line of another group can take the call. */
  beforeFallbackMs: 2_000,
  /** Of one group, on one process. */
  length: 4_096,
  /** Once calls have waited for this long without a gap, the rate at which calls end is that of full accounts. */
  knownAfterMs: 20_000,
  /** Bounds of the time after which a refused client may return. */
  retryMs: { min: 1_000, max: 60_000 },
} as const;
