/**
 * Rate limits of a key, its user and an operation: requests per minute, tokens per minute, and concurrency. A request must fit all. Buckets
 * refill evenly. Tokens are counted after the response, so a burst may overdraw a bucket, and later requests wait for the refill.
 * Where requests are counted is a matter of `LimitCounts`: in this process, in the primary of a worker, or in Redis.
 * Reasons: docs/adr/0008-limits.md
 */
import { type ApiError, fail, type LimitedKey, type Limits, type MaybePromise } from '../../core/index.ts';

export interface LimitCounts {
  /** Counts a request if it fits all scopes. */
  take(scopes: readonly LimitScope[]): MaybePromise<Take>;
  /** Adds tokens to scopes with a token limit. */
  count(scopes: readonly LimitScope[], tokens: number): void;
}

export interface Take {
  /** By scope, with the request if it was counted. */
  readonly used: readonly LimitUsage[];
  /** Undefined when the request does not fit. To be called once. */
  readonly release: (() => void) | undefined;
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
  readonly userId: string;
  readonly limits: RateLimits;
}

export type RateLimits = Pick<Limits, 'rpm' | 'tpm' | 'concurrency'>;

/** Used part of each bucket, and open requests. Counts usage, not the remainder, so that a limit may change at any time. */
export interface LimitUsage {
  readonly requests: number;
  readonly tokens: number;
  readonly open: number;
}

export class Limiter {
  readonly #counts: LimitCounts;

  constructor(counts: LimitCounts) {
    this.#counts = counts;
  }

  /**
   * Counts a request. Returns undefined when it has no limits, and a promise only when another process must be asked. Throws or rejects
   * with `rate_limit_exceeded` and `retryAfter`.
   */
  acquire(key: LimitedKey, operation?: OperationLimit): undefined | MaybePromise<Slot> {
    if (!key.limits && !key.userLimits && !operation) return undefined;
    const scopes = scopesOf(key, operation);
    if (scopes.length === 0) return undefined;
    const take = this.#counts.take(scopes);
    return take instanceof Promise ? take.then((taken) => slotOf(scopes, taken)) : slotOf(scopes, take);
  }

  /** Adds the tokens that a request used. */
  count(key: LimitedKey, tokens: number): void {
    if (!key.limits && !key.userLimits) return;
    const scopes = scopesOf(key).filter(({ limits }) => limits.tpm !== undefined);
    if (scopes.length > 0) this.#counts.count(scopes, tokens);
  }
}

function slotOf(scopes: readonly LimitScope[], { used, release }: Take): Slot {
  if (!release) throw limitRejection(scopes, used);
  let isHeld = true;
  return {
    headers: limitHeaders(scopes, used),
    release: () => {
      if (isHeld) release();
      isHeld = false;
    },
  };
}

export const MINUTE_MS = 60_000;
/** Tolerance for rounding errors: fractions of a request do not add up exactly in binary. */
const EPSILON = 1e-6;

function scopesOf({ id, userId, limits, userLimits }: LimitedKey, operation?: OperationLimit): readonly LimitScope[] {
  const scopes: LimitScope[] = [];
  if (operation)
    scopes.push({ owner: 'operation', id: `${userId}:${operation.operation}`, userId, limits: { rpm: operation.rpm } });
  if (limits && hasRates(limits)) scopes.push({ owner: 'key', id, userId, limits });
  if (userLimits && hasRates(userLimits)) scopes.push({ owner: 'user', id: userId, userId, limits: userLimits });
  return scopes;
}

const hasRates = ({ rpm, tpm, concurrency }: RateLimits): boolean =>
  rpm !== undefined || tpm !== undefined || concurrency !== undefined;

/** Usage that remains after `ms` of refill. A negative `ms` counts as 0, because the clock may be set back. */
export const usedAfter = (used: number, perMinute: number | undefined, ms: number): number =>
  perMinute === undefined ? 0 : Math.max(0, used - (Math.max(0, ms) * perMinute) / MINUTE_MS);

export const fits = ({ rpm, tpm, concurrency }: RateLimits, { requests, tokens, open }: LimitUsage): boolean =>
  hasOne(rpm, requests) && hasOne(tpm, tokens) && (concurrency === undefined || open < concurrency);

const hasOne = (perMinute: number | undefined, used: number): boolean =>
  perMinute === undefined || perMinute - used >= 1 - EPSILON;

/** The error for a request that does not fit. Reports the limit with the longest wait. */
function limitRejection(scopes: readonly LimitScope[], used: readonly LimitUsage[]): ApiError {
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
function limitHeaders(scopes: readonly LimitScope[], used: readonly LimitUsage[]): Record<string, string> {
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
