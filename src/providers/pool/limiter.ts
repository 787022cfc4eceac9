/**
 * Rate limits of a key, its user and an operation: requests per minute, tokens per minute, and concurrency. A request must fit all. No
 * 60 s admit more than a limit (core/rate-window.ts). Where requests are counted is a matter of `LimitCounts`: in this process, in the primary
 * of a worker, or in Redis. Reasons: docs/adr/0008-limits.md
 */
import {
  type ApiError,
  fail,
  type LimitedKey,
  type Limits,
  type MaybePromise,
  type WindowUse,
} from '../../core/index.ts';

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
  /** Requests that are admitted within a second. */
  readonly burst: number;
}

export type RateLimits = Pick<Limits, 'rpm' | 'tpm' | 'concurrency'>;

/** Counts usage, not the remainder, so that a limit may change at any time. */
export interface LimitUsage {
  readonly requests: WindowUse;
  readonly tokens: WindowUse;
  /** Requests in flight. */
  readonly open: number;
}

export class Limiter {
  readonly #counts: LimitCounts;
  readonly #burstPercent: number;

  /** `burstPercent`: the part of a limit of requests per minute that is admitted within a second. */
  constructor(counts: LimitCounts, burstPercent = 100) {
    this.#counts = counts;
    this.#burstPercent = burstPercent;
  }

  /**
   * Counts a request. Returns undefined when it has no limits, and a promise only when another process must be asked. Throws or rejects
   * with `rate_limit_exceeded` and `retryAfter`.
   */
  acquire(key: LimitedKey, operation?: OperationLimit): undefined | MaybePromise<Slot> {
    if (!key.limits && !key.userLimits && !operation) return undefined;
    const scopes = this.#scopesOf(key, operation);
    if (scopes.length === 0) return undefined;
    const take = this.#counts.take(scopes);
    return take instanceof Promise ? take.then((taken) => slotOf(scopes, taken)) : slotOf(scopes, take);
  }

  /** Adds the tokens that a request used. */
  count(key: LimitedKey, tokens: number): void {
    if (!key.limits && !key.userLimits) return;
    const scopes = this.#scopesOf(key).filter(({ limits }) => limits.tpm !== undefined);
    if (scopes.length > 0) this.#counts.count(scopes, tokens);
  }

  #scopesOf({ id, userId, limits, userLimits }: LimitedKey, operation?: OperationLimit): readonly LimitScope[] {
    const scopes: LimitScope[] = [];
    const add = (owner: LimitScope['owner'], ownerId: string, rates: RateLimits): void => {
      const { rpm, tpm, concurrency } = rates;
      if (rpm === undefined && tpm === undefined && concurrency === undefined) return;
      scopes.push({ owner, id: ownerId, userId, limits: rates, burst: burstOf(rpm ?? 0, this.#burstPercent) });
    };
    if (operation) add('operation', `${userId}:${operation.operation}`, { rpm: operation.rpm });
    if (limits) add('key', id, limits);
    if (userLimits) add('user', userId, userLimits);
    return scopes;
  }
}

/** At least one. `percent` is at least the part of 1.2 seconds, so that requests that come evenly always fit. */
export const burstOf = (rpm: number, percent: number): number => Math.ceil((rpm * percent) / 100);

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

/** The error for a request that does not fit. Reports the limit with the longest wait. */
function limitRejection(scopes: readonly LimitScope[], used: readonly LimitUsage[]): ApiError {
  const rejections = used.flatMap((usage, n) => rejectionsOf(scopes[n] as LimitScope, usage));
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
  const rates = [
    [tpm, used.tokens, 'tokens'],
    [rpm, used.requests, 'requests'],
  ] as const;
  for (const [perMinute, { waitMs }, what] of rates) {
    if (waitMs === 0) continue;
    const retryAfter = Math.ceil(waitMs / 1_000);
    const message = `Rate limit reached: ${subject} may use ${perMinute} ${what} per minute${scope}. Please try again in ${retryAfter}s.`;
    rejections.push({ retryAfter, message });
  }
  return rejections;
}

/** Reports the scope with the smaller remainder. */
function limitHeaders(scopes: readonly LimitScope[], used: readonly LimitUsage[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [limit, what] of [
    ['rpm', 'requests'],
    ['tpm', 'tokens'],
  ] as const) {
    const rates = scopes.flatMap(({ limits: { [limit]: perMinute } }, n) => {
      const { used: units, resetMs } = used[n]?.[what] ?? NO_USE;
      return perMinute === undefined ? [] : [{ perMinute, left: perMinute - units, resetMs }];
    });
    const [tightest] = rates.sort((a, b) => a.left - b.left || a.perMinute - b.perMinute);
    if (!tightest) continue;
    headers[`x-ratelimit-limit-${what}`] = String(tightest.perMinute);
    headers[`x-ratelimit-remaining-${what}`] = String(Math.max(0, tightest.left));
    headers[`x-ratelimit-reset-${what}`] = `${Math.ceil(tightest.resetMs / 1_000)}s`;
  }
  return headers;
}

export const NO_USE: WindowUse = { used: 0, waitMs: 0, resetMs: 0 };
