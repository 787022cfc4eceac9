/**
 * Rate limits of a key, its user and an operation: a request must fit all.
 * `LimitCounts` says where they are counted. Reasons: docs/adr/0008-limits.md
 */
import * as core from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';

export interface LimitCounts {
  take(scopes: readonly LimitScope[]): core.MaybePromise<Take>;
  count(scopes: readonly LimitScope[], tokens: number): void;
}

export interface Take {
  readonly used: readonly LimitUsage[];
  /** Undefined when the request does not fit. To be called once. */
  readonly release: (() => void) | undefined;
}

export interface Slot {
  readonly headers: Readonly<Record<string, string>>;
  release(): void;
}

/** Requests per minute that one user may make of an operation, whatever the key. */
export interface OperationLimit {
  readonly operation: string;
  readonly rpm: number;
}

export interface LimitScope {
  readonly owner: 'key' | 'user' | 'operation';
  readonly id: string;
  readonly userId: string;
  readonly limits: RateLimits;
  /** Requests that are admitted within a second. */
  readonly burst: number;
}

export type RateLimits = Pick<core.Limits, 'rpm' | 'tpm' | 'concurrency'>;

/** Counts usage, not the remainder, so that a limit may change at any time. */
export interface LimitUsage {
  readonly requests: core.WindowUse;
  readonly tokens: core.WindowUse;
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
   * Undefined when it has no limits, a promise only when another process must be asked.
   * Throws or rejects with `rate_limit_exceeded` and `retryAfter`.
   */
  acquire(key: core.LimitedKey, operation?: OperationLimit): undefined | core.MaybePromise<Slot> {
    if (!key.limits && !key.userLimits && !operation) return undefined;
    const scopes = this.#scopesOf(key, operation);
    if (scopes.length === 0) return undefined;
    const take = this.#counts.take(scopes);
    return take instanceof Promise ? take.then((taken) => slotOf(scopes, taken)) : slotOf(scopes, take);
  }

  count(key: core.LimitedKey, tokens: number): void {
    if (!key.limits && !key.userLimits) return;
    const scopes = this.#scopesOf(key).filter(({ limits }) => limits.tpm !== undefined);
    if (scopes.length > 0) this.#counts.count(scopes, tokens);
  }

  #scopesOf({ id, userId, limits, userLimits }: core.LimitedKey, operation?: OperationLimit): readonly LimitScope[] {
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

function limitRejection(scopes: readonly LimitScope[], used: readonly LimitUsage[]): core.ApiError {
  const rejections = used.flatMap((usage, n) => rejectionsOf(scopes[n] as LimitScope, usage));
  const [longest = { retryAfter: 1, message: undefined }] = rejections.sort((a, b) => b.retryAfter - a.retryAfter);
  const { retryAfter, message } = longest;
  return core.fail('rate_limit_exceeded', message, { retryAfter, headers: limitHeaders(scopes, used) });
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
    const message = `Rate limit reached: ${subject} may use ${perMinute} ${what} per minute${scope}.`;
    rejections.push({ retryAfter, message: `${message} Please try again in ${retryAfter}s.` });
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

export const NO_USE: core.WindowUse = { used: 0, waitMs: 0, resetMs: 0 };

/** Throws or rejects when a limit is reached. Without a promise when the limits are counted in this process. */
export function acquireSlot(
  limiter: Limiter,
  call: Call,
  key: core.LimitedKey,
  operation?: OperationLimit,
): undefined | Promise<void> {
  // A turn of a WebSocket that goes on over HTTP is one request.
  if (HOLDING.has(call)) return undefined;
  const acquired = limiter.acquire(key, operation);
  if (acquired instanceof Promise) return acquired.then((slot) => hold(call, slot));
  if (acquired) hold(call, acquired);
  return undefined;
}

const HOLDING = new WeakSet<Call>();

function hold(call: Call, slot: Slot): void {
  HOLDING.add(call);
  call.addHeaders(slot.headers);
  call.onClose(() => slot.release());
}
