/**
 * Counts of rate limits in Redis, shared by all replicas. A request waits for one round trip at its start, and not at all at its end.
 * While Redis is down, each replica counts alone. Its own counts are kept up to date meanwhile, so that limits stay in force when Redis
 * goes down.
 */
import { randomUUID } from 'node:crypto';
import type { MaybePromise } from '../../core/index.ts';
import { LEASE_MS, type Redis, script } from '../../platform/redis/index.ts';
import type { LimitCounts, LimitScope, Take } from './limiter.ts';
import type { LocalLimits } from './local-limits.ts';

export class RedisLimits implements LimitCounts {
  readonly #redis: Redis;
  readonly #local: LocalLimits;

  constructor(redis: Redis, local: LocalLimits) {
    this.#redis = redis;
    this.#local = local;
  }

  take(scopes: readonly LimitScope[]): MaybePromise<Take> {
    const lease: Lease = { id: randomUUID(), keys: openKeys(scopes) };
    return this.#redis.isUp ? this.#takeShared(lease, scopes) : this.#renewed(lease, this.#local.take(scopes), false);
  }

  count(scopes: readonly LimitScope[], tokens: number): void {
    this.#local.count(scopes, tokens);
    const keys = scopes.map((scope) => redisKey(scope, 'rates'));
    this.#redis.post(COUNT, keys, [String(tokens), ...scopes.map(({ limits }) => String(limits.tpm))]);
  }

  async #takeShared(lease: Lease, scopes: readonly LimitScope[]): Promise<Take> {
    const keys = scopes.flatMap((scope) => [redisKey(scope, 'rates'), redisKey(scope, 'open')]);
    const args = scopes.flatMap(({ limits: { rpm = 0, tpm = 0, concurrency = 0 } }) => [rpm, tpm, concurrency]);
    let reply: unknown;
    try {
      reply = await this.#redis.run(ACQUIRE, keys, [lease.id, String(LEASE_MS), ...args.map(String)]);
    } catch {
      // The script may have run, so the request ends in Redis too.
      return this.#renewed(lease, this.#local.take(scopes), true);
    }
    const [isAdmitted, ...numbers] = (reply as readonly unknown[]).map(Number);
    const used = scopes.map((_, n) => {
      const [requests = 0, tokens = 0, open = 0] = numbers.slice(3 * n);
      return { requests, tokens, open };
    });
    return this.#renewed(lease, { used, release: isAdmitted === 1 ? this.#local.add(scopes) : undefined }, true);
  }

  /** Renews the request in Redis until it ends. A request that was counted locally is added to Redis after the reconnect. */
  #renewed({ id, keys }: Lease, take: Take, isInRedis: boolean): Take {
    const { used, release } = take;
    if (!release || keys.length === 0) return take;
    let mayBeInRedis = isInRedis;
    const stopRenewing = this.#redis.onRenew(() => {
      mayBeInRedis ||= this.#redis.isUp;
      this.#redis.post(RENEW, keys, [id, String(LEASE_MS)]);
    });
    return {
      used,
      release: () => {
        release();
        stopRenewing();
        if (mayBeInRedis) this.#redis.endLease(RELEASE, keys, [id]);
      },
    };
  }
}

/** An open request in Redis, which expires unless it is renewed. */
interface Lease {
  readonly id: string;
  /** Of the scopes with a concurrency limit. */
  readonly keys: readonly string[];
}

/** The user id is the hash tag, so that a cluster keeps the keys of one user on one node. Contains ids only, no secrets. */
const redisKey = ({ owner, id, userId }: LimitScope, what: 'rates' | 'open'): string =>
  `dragoman:{${userId}}:${owner === 'user' ? 'user' : `${owner}:${id}`}:${what}`;

const openKeys = (scopes: readonly LimitScope[]): string[] =>
  scopes.filter(({ limits }) => limits.concurrency !== undefined).map((scope) => redisKey(scope, 'open'));

/** Uses the clock of Redis, because the clocks of replicas differ. `used_after` is `usedAfter` of limiter.ts. */
const COMMON = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function used_after(used, at, perMinute)
  if perMinute == 0 then return 0 end
  local passed = math.max(0, now - (tonumber(at) or now))
  return math.max(0, (tonumber(used) or 0) - passed * perMinute / 60000)
end
local function expire_when_empty(key, requests, rpm, tokens, tpm)
  local minutes = math.max(rpm > 0 and requests / rpm or 0, tpm > 0 and tokens / tpm or 0)
  redis.call('PEXPIRE', key, math.ceil(minutes * 60000) + 60000)
end
local function exact(number) return string.format('%.17g', number) end
`;

/** KEYS: rates and open slots of each scope. ARGV: slot id, lease in ms, then rpm, tpm and concurrency of each scope; 0 = no limit. */
const ACQUIRE = script(`${COMMON}
local is_admitted, scopes = 1, {}
for n = 1, #KEYS / 2 do
  local rates, open = KEYS[2 * n - 1], KEYS[2 * n]
  local rpm, tpm, concurrency = tonumber(ARGV[3 * n]), tonumber(ARGV[3 * n + 1]), tonumber(ARGV[3 * n + 2])
  local stored = redis.call('HMGET', rates, 'requests', 'requests_at', 'tokens', 'tokens_at')
  local requests, tokens, count = used_after(stored[1], stored[2], rpm), used_after(stored[3], stored[4], tpm), 0
  if concurrency > 0 then
    redis.call('ZREMRANGEBYSCORE', open, '-inf', now)
    count = redis.call('ZCARD', open)
  end
  if (rpm > 0 and rpm - requests < 1 - 1e-6) or (tpm > 0 and tpm - tokens < 1 - 1e-6)
    or (concurrency > 0 and count >= concurrency) then is_admitted = 0 end
  scopes[n] = { rates = rates, open = open, rpm = rpm, tpm = tpm, concurrency = concurrency, requests = requests, tokens = tokens, count = count }
end
local reply = { is_admitted }
for _, scope in ipairs(scopes) do
  if is_admitted == 1 then
    scope.requests = scope.rpm > 0 and scope.requests + 1 or 0
    redis.call('HSET', scope.rates, 'requests', exact(scope.requests), 'requests_at', now, 'tokens', exact(scope.tokens), 'tokens_at', now)
    expire_when_empty(scope.rates, scope.requests, scope.rpm, scope.tokens, scope.tpm)
    if scope.concurrency > 0 then
      redis.call('ZADD', scope.open, now + ARGV[2], ARGV[1])
      redis.call('PEXPIRE', scope.open, ARGV[2])
    end
  end
  reply[#reply + 1] = exact(scope.requests)
  reply[#reply + 1] = exact(scope.tokens)
  reply[#reply + 1] = scope.count
end
return reply`);

/** KEYS: rates of each scope with a token limit. ARGV: tokens, then the limit of each scope. */
const COUNT = script(`${COMMON}
for n, rates in ipairs(KEYS) do
  local tpm = tonumber(ARGV[n + 1])
  local stored = redis.call('HMGET', rates, 'tokens', 'tokens_at')
  local tokens = used_after(stored[1], stored[2], tpm) + ARGV[1]
  redis.call('HSET', rates, 'tokens', exact(tokens), 'tokens_at', now)
  expire_when_empty(rates, 0, 0, tokens, tpm)
end`);

/** KEYS: open slots of each scope with a concurrency limit. ARGV: slot id, lease in ms. */
const RENEW = script(`${COMMON}
for _, open in ipairs(KEYS) do
  redis.call('ZADD', open, now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', open, ARGV[2])
end`);

const RELEASE = script(`
for _, open in ipairs(KEYS) do redis.call('ZREM', open, ARGV[1]) end`);
