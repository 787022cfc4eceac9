export { openRedisClient, type Script, script } from './client.ts';
export { LEASE_MS, Redis } from './redis.ts';
