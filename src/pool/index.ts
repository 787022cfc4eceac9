export type { Limiter, Visit } from './limiter.ts';
export { LocalLimiter } from './local-limiter.ts';
export { type Affinity, type Lease, type NoAccount, Pool, type Poolable } from './pool.ts';
export { SharedLimiter } from './redis-limiter.ts';
