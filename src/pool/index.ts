export { AccountQueue } from './account-queue.ts';
export type { AccountUse, AttemptFault } from './cooldown.ts';
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
export { RedisLimiter } from './redis-limiter.ts';
export { RetryBudget } from './retry-budget.ts';
export { SharedHealth } from './shared-health.ts';
export { acquireSlot } from './slot.ts';
