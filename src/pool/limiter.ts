/**
 * Rate limits of a key, its user and an operation: requests per minute, tokens per minute, and concurrency. A request must fit all. Buckets
 * refill evenly. Tokens are counted after the response, so a burst may overdraw a bucket, and later requests wait for the refill.
 * This module holds what the local and the Redis limiter share: scopes, the check, rejections and headers. Reasons: docs/adr/0008-limits.md
 */
import { type ApiError, fail, type LimitedKey, type Limits } from '../core/index.ts';

export interface Limiter {
  /**
   * Counts a request. Returns undefined when it has no limits, and a promise only when Redis must be asked. Throws or rejects with
   * `rate_limit_exceeded` and `retryAfter`.
   */
  acquire(key: LimitedKey, operation?: OperationLimit): Slot | undefined | Promise<Slot>;
  /** Adds the tokens that a request used. */
  count(key: LimitedKey, tokens: number): void;
}

export interface Slot {
  /** Response headers with the remaining budget of the tighter scope. */
  readonly headers: Readonly<Record<string, string>>;
  release(): void;
}

/** Requests per minute that one user may make of an operation, whatever the key. */
export interface OperationLimit {
  readonly operation: string;
  readonly rpm: number;
}

/** The key, the user, or one operation of the user, with its limits. */
export interface LimitScope {
  readonly owner: 'key' | 'user' | 'operation';
  readonly id: string;
  readonly limits: Limits;
}

/** Used part of each bucket, and open requests. Counts usage, not the remainder, so that a limit may change at any time. */
export interface LimitUsage {
  readonly requests: number;
  readonly tokens: number;
  readonly open: number;
}

export const MINUTE_MS = 60_000;
/** Tolerance for rounding errors: fractions of a request do not add up exactly in binary. */
const EPSILON = 1e-6;

export function scopesOf(
  { id, userId, limits, userLimits }: LimitedKey,
  operation?: OperationLimit,
): readonly LimitScope[] {
  const scopes: LimitScope[] = [];
  if (operation)
    scopes.push({ owner: 'operation', id: `${userId}:${operation.operation}`, limits: { rpm: operation.rpm } });
  if (limits && hasRates(limits)) scopes.push({ owner: 'key', id, limits });
  if (userLimits && hasRates(userLimits)) scopes.push({ owner: 'user', id: userId, limits: userLimits });
  return scopes;
}

const hasRates = ({ rpm, tpm, concurrency }: Limits): boolean =>
  rpm !== undefined || tpm !== undefined || concurrency !== undefined;

/** Usage that remains after `ms` of refill. A negative `ms` counts as 0, because the clock may be set back. */
export const usedAfter = (used: number, perMinute: number | undefined, ms: number): number =>
  perMinute === undefined ? 0 : Math.max(0, used - (Math.max(0, ms) * perMinute) / MINUTE_MS);

export const fits = ({ rpm, tpm, concurrency }: Limits, { requests, tokens, open }: LimitUsage): boolean =>
  hasOne(rpm, requests) && hasOne(tpm, tokens) && (concurrency === undefined || open < concurrency);

const hasOne = (perMinute: number | undefined, used: number): boolean =>
  perMinute === undefined || perMinute - used >= 1 - EPSILON;

/** The error for a request that does not fit. Reports the limit with the longest wait. */
export function limitRejection(scopes: readonly LimitScope[], used: readonly LimitUsage[]): ApiError {
  const rejections = scopes.flatMap((scope, n) => rejectionsOf(scope, used[n] ?? NO_USAGE));
  const [longest = { retryAfter: 1, message: undefined }] = rejections.sort((a, b) => b.retryAfter - a.retryAfter);
  const { retryAfter, message } = longest;
  return fail('rate_limit_exceeded', message, { retryAfter, headers: limitHeaders(scopes, used) });
}

interface LimitRejection {
  readonly retryAfter: number;
  readonly message: string;
}

function rejectionsOf({ owner, limits: { rpm, tpm, concurrency } }: LimitScope, used: LimitUsage): LimitRejection[] {
  const rejections: LimitRejection[] = [];
  const [subject, scope] = owner === 'operation' ? ['this user', ' of this operation'] : [`this ${owner}`, ''];
  if (concurrency !== undefined && used.open >= concurrency)
    rejections.push({
      retryAfter: 1,
      message: `Concurrency limit reached: ${subject} may have ${concurrency} requests in flight.`,
    });
  const buckets = [
    [tpm, used.tokens, 'tokens'],
    [rpm, used.requests, 'requests'],
  ] as const;
  for (const [perMinute, units, what] of buckets) {
    if (perMinute === undefined || hasOne(perMinute, units)) continue;
    const retryAfter = Math.max(1, Math.ceil(((1 + units - perMinute) / perMinute) * 60 - EPSILON));
    const message = `Rate limit reached: ${subject} may use ${perMinute} ${what} per minute${scope}. Please try again in ${retryAfter}s.`;
    rejections.push({ retryAfter, message });
  }
  return rejections;
}

/** Reports the scope with the smaller remainder. */
export function limitHeaders(scopes: readonly LimitScope[], used: readonly LimitUsage[]): Record<string, string> {
  return {
    ...bucketHeaders(
      'requests',
      scopes.map(({ limits }, n) => [limits.rpm, used[n]?.requests ?? 0]),
    ),
    ...bucketHeaders(
      'tokens',
      scopes.map(({ limits }, n) => [limits.tpm, used[n]?.tokens ?? 0]),
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

const NO_USAGE: LimitUsage = { requests: 0, tokens: 0, open: 0 };
