export type { Limiter, Slot } from './limiter.ts';
export { LocalLimiter } from './local-limiter.ts';
export { type AccountLease, type Affinity, type NoAccount, Pool, type PooledAccount } from './pool.ts';
export { RedisLimiter } from './redis-limiter.ts';
