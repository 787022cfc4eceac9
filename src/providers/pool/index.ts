export { AccountBook, type BorrowNotice, type PermitNotice } from './account-book.ts';
export { AccountQueue } from './account-queue.ts';
export { ACCOUNT_SERVICES, AccountShares } from './account-shares.ts';
export type { AccountLimits } from './account-usage.ts';
export type { AccountUse, AttemptFault } from './cooldown.ts';
export { Limiter, type OperationLimit } from './limiter.ts';
export { LocalLimits } from './local-limits.ts';
export {
  type AccountLease,
  type Affinity,
  type HealthEvent,
  type NoAccount,
  type Obstacle,
  Pool,
  type PooledAccount,
} from './pool.ts';
export { LIMIT_SERVICES, LimitBook, PrimaryLimits, type TakeQuestion, type TokenNotice } from './primary-limits.ts';
export { RedisLimits, shareUsage } from './redis-limits.ts';
export { RetryBudget } from './retry-budget.ts';
export { lockHealth, REACHED_LIMITS, readSharedState, SharedHealth } from './shared-health.ts';
export { acquireSlot } from './slot.ts';
