export { openLink, type Script, script } from './link.ts';
export { LEASE_MS, Redis, RedisDown, type RedisOptions } from './redis.ts';
