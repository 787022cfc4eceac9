export { AccountBook, type BorrowNotice, type PermitNotice } from './account-book.ts';
export { AccountQueue } from './account-queue.ts';
export { ACCOUNT_SERVICES, AccountShares } from './account-shares.ts';
export type { AccountUse, AttemptFault } from './cooldown.ts';
export { LimitBook, type LimitPage, type TakeQuestion, type TokenNotice } from './limit-book.ts';
export type { Limiter, OperationLimit, Slot } from './limiter.ts';
export { LocalLimiter } from './local-limiter.ts';
export {
  type AccountLease,
  type Affinity,
  type HealthEvent,
  type NoAccount,
  Pool,
  type PooledAccount,
} from './pool.ts';
export { LIMIT_SERVICES, PrimaryLimiter } from './primary-limiter.ts';
export { RedisLimiter } from './redis-limiter.ts';
export { RetryBudget } from './retry-budget.ts';
export { SharedHealth } from './shared-health.ts';
export { acquireSlot } from './slot.ts';
