export { CooldownReport } from './cooldown-report.ts';
export type { AccountUse, HealthEvent } from './health.ts';
export type { Limiter, OperationLimit, Slot } from './limiter.ts';
export { LocalLimiter } from './local-limiter.ts';
export { type AccountLease, type Affinity, type NoAccount, Pool, type PooledAccount } from './pool.ts';
export { RedisLimiter } from './redis-limiter.ts';
export { acquireSlot } from './slot.ts';
