export { openRedisClient, type Script, script } from './client.ts';
export { LEASE_MS, Redis, RedisDown, type RedisOptions } from './redis.ts';
