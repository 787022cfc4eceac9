/**
 * Limits of a key and of its user: requests and tokens per minute, calls at once. A call must fit both. Buckets fill evenly; tokens
 * are counted when they are known, so a burst may overdraw its bucket, and the next calls wait until that is paid back.
 * Here is what the two ways of keeping count share: who is limited, whether a call fits, and what its caller is told.
 */
import { type ApiError, fail, type LimitedKey, type Limits } from '../core/index.ts';

export interface Limiter {
  /**
   * Counts a call in. Undefined when nothing limits it, a promise only where somebody else must be asked. Throws or rejects with
   * `rate_limit_exceeded` and the time to wait.
   */
  acquire(who: LimitedKey): Slot | undefined | Promise<Slot>;
  /** What a call turned out to use. */
  count(who: LimitedKey, tokens: number): void;
}

export interface Slot {
  /** For the answer: what is left, of the tighter limit. */
  readonly headers: Readonly<Record<string, string>>;
  release(): void;
}

/** One of the two that a call must fit. */
export interface LimitScope {
  readonly owner: 'key' | 'user';
  readonly id: string;
  readonly limits: Limits;
}

/** What is used up of each bucket, so that a limit may change under it, and the calls that are open. */
export interface LimitUsage {
  readonly requests: number;
  readonly tokens: number;
  readonly open: number;
}

export const MINUTE_MS = 60_000;
/** Thirds and sevenths of a request do not add up to whole ones in binary. */
const EPSILON = 1e-6;

export function scopesOf({ id, userId, limits, userLimits }: LimitedKey): readonly LimitScope[] {
  const sides: LimitScope[] = [];
  if (limits && hasRates(limits)) sides.push({ owner: 'key', id, limits });
  if (userLimits && hasRates(userLimits)) sides.push({ owner: 'user', id: userId, limits: userLimits });
  return sides;
}

const hasRates = ({ rpm, tpm, concurrency }: Limits): boolean =>
  rpm !== undefined || tpm !== undefined || concurrency !== undefined;

/** What is still used up after so long. A clock may be set back. */
export const drained = (used: number, perMinute: number | undefined, ms: number): number =>
  perMinute === undefined ? 0 : Math.max(0, used - (Math.max(0, ms) * perMinute) / MINUTE_MS);

export const fits = ({ rpm, tpm, concurrency }: Limits, { requests, tokens, open }: LimitUsage): boolean =>
  hasOne(rpm, requests) && hasOne(tpm, tokens) && (concurrency === undefined || open < concurrency);

const hasOne = (perMinute: number | undefined, used: number): boolean =>
  perMinute === undefined || perMinute - used >= 1 - EPSILON;

/** The refusal of a call that does not fit: of several reasons, the one that lasts longest. */
export function limitRejection(sides: readonly LimitScope[], used: readonly LimitUsage[]): ApiError {
  const reasons = sides.flatMap((side, n) => reasonsOf(side, used[n] ?? NOTHING));
  const [longest = { retryAfter: 1, message: undefined }] = reasons.sort((a, b) => b.retryAfter - a.retryAfter);
  const { retryAfter, message } = longest;
  return fail('rate_limit_exceeded', message, { retryAfter, headers: limitHeaders(sides, used) });
}

interface Reason {
  readonly retryAfter: number;
  readonly message: string;
}

function reasonsOf({ owner, limits: { rpm, tpm, concurrency } }: LimitScope, used: LimitUsage): Reason[] {
  const reasons: Reason[] = [];
  if (concurrency !== undefined && used.open >= concurrency)
    reasons.push({ retryAfter: 1, message: `This ${owner} may have ${concurrency} calls at once, and has them.` });
  const buckets = [
    [tpm, used.tokens, 'tokens'],
    [rpm, used.requests, 'requests'],
  ] as const;
  for (const [perMinute, gone, what] of buckets) {
    if (perMinute === undefined || hasOne(perMinute, gone)) continue;
    const retryAfter = Math.max(1, Math.ceil(((1 + gone - perMinute) / perMinute) * 60 - EPSILON));
    const message = `This ${owner}'s limit of ${perMinute} ${what} per minute is reached. Please try again in ${retryAfter}s.`;
    reasons.push({ retryAfter, message });
  }
  return reasons;
}

/** Of key and user, the one that has less left. */
export function limitHeaders(sides: readonly LimitScope[], used: readonly LimitUsage[]): Record<string, string> {
  return {
    ...bucketHeaders(
      'requests',
      sides.map(({ limits }, n) => [limits.rpm, used[n]?.requests ?? 0]),
    ),
    ...bucketHeaders(
      'tokens',
      sides.map(({ limits }, n) => [limits.tpm, used[n]?.tokens ?? 0]),
    ),
  };
}

function bucketHeaders(
  what: string,
  buckets: readonly (readonly [perMinute: number | undefined, used: number])[],
): Record<string, string> {
  let tighter: { perMinute: number; left: number } | undefined;
  for (const [perMinute, used] of buckets) {
    if (perMinute === undefined) continue;
    const left = perMinute - used;
    if (!tighter || left < tighter.left || (left === tighter.left && perMinute < tighter.perMinute))
      tighter = { perMinute, left };
  }
  if (!tighter) return {};
  const { perMinute, left } = tighter;
  return {
    [`x-ratelimit-limit-${what}`]: String(perMinute),
    [`x-ratelimit-remaining-${what}`]: String(Math.max(0, Math.floor(left + EPSILON))),
    [`x-ratelimit-reset-${what}`]: `${Math.ceil(((perMinute - left) / perMinute) * 60 - EPSILON)}s`,
  };
}

const NOTHING: LimitUsage = { requests: 0, tokens: 0, open: 0 };
