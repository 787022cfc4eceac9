export { Limiter, type RateLimits } from './limiter.ts';
export { type Affinity, type Lease, type NoAccount, Pool, type Poolable } from './pool.ts';
