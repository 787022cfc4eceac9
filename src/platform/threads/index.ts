export type { ThreadJob } from './job.ts';
export { type JobOwner, ThreadPool, type ThreadPoolOptions, type Threads } from './thread-pool.ts';
