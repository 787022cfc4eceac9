export { LARGE_BODY_BYTES, movable, type ThreadJob } from './job.ts';
export { type JobOwner, ThreadPool, type ThreadPoolOptions, type Threads, threadCount } from './thread-pool.ts';
