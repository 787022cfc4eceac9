/**
 * Rate limiter in Redis, shared by all replicas. A request waits for one round trip to acquire its slot, and not at all to release
 * it. While Redis is down, each replica uses its local limiter. The local counters are kept up to date meanwhile, so that limits
 * stay in force when Redis goes down.
 */
import { randomUUID } from 'node:crypto';
import type { LimitedKey } from '../core/index.ts';
import { LEASE_MS, type Redis, script } from '../redis/index.ts';
import {
  type Limiter,
  type LimitScope,
  type LimitUsage,
  limitHeaders,
  limitRejection,
  type OperationLimit,
  type Slot,
  scopesOf,
} from './limiter.ts';
import type { LocalLimiter } from './local-limiter.ts';

export class RedisLimiter implements Limiter {
  readonly #redis: Redis;
  readonly #local: LocalLimiter;

  constructor(redis: Redis, local: LocalLimiter) {
    this.#redis = redis;
    this.#local = local;
  }

  acquire(key: LimitedKey, operation?: OperationLimit): Slot | undefined | Promise<Slot> {
    if (!key.limits && !key.userLimits && !operation) return undefined;
    const scopes = scopesOf(key, operation);
    if (scopes.length === 0) return undefined;
    const id = randomUUID();
    if (this.#redis.isUp) return this.#acquireShared(id, key, scopes, operation);
    const slot = this.#local.acquire(key, operation);
    return slot && this.#withLease(id, openKeys(key, scopes), slot, false);
  }

  count(key: LimitedKey, tokens: number): void {
    if (!key.limits && !key.userLimits) return;
    this.#local.count(key, tokens);
    const scopes = scopesOf(key).filter(({ limits }) => limits.tpm !== undefined);
    if (scopes.length === 0) return;
    const keys = scopes.map((scope) => redisKey(key, scope, 'rates'));
    this.#redis.post(COUNT, keys, [String(tokens), ...scopes.map(({ limits }) => String(limits.tpm))]);
  }

  async #acquireShared(
    id: string,
    key: LimitedKey,
    scopes: readonly LimitScope[],
    operation: OperationLimit | undefined,
  ): Promise<Slot> {
    const keys = scopes.flatMap((scope) => [redisKey(key, scope, 'rates'), redisKey(key, scope, 'open')]);
    const args = scopes.flatMap(({ limits: { rpm = 0, tpm = 0, concurrency = 0 } }) => [rpm, tpm, concurrency]);
    let reply: unknown;
    try {
      reply = await this.#redis.run(ACQUIRE, keys, [id, String(LEASE_MS), ...args.map(String)]);
    } catch {
      // The script may have run, so release the slot in Redis too.
      return this.#withLease(
        id,
        openKeys(key, scopes),
        this.#local.acquire(key, operation) ?? this.#local.take(scopes),
        true,
      );
    }
    const [isAdmitted, used] = readReply(reply, scopes.length);
    if (!isAdmitted) throw limitRejection(scopes, used);
    const slot = { ...this.#local.take(scopes), headers: limitHeaders(scopes, used) };
    return this.#withLease(id, openKeys(key, scopes), slot, true);
  }

  /** Renews the slot in Redis until it is released. A slot acquired locally is added to Redis after the reconnect. */
  #withLease(id: string, keys: readonly string[], slot: Slot, isInRedis: boolean): Slot {
    if (keys.length === 0) return slot;
    let mayBeInRedis = isInRedis;
    const stopRenewing = this.#redis.onRenew(() => {
      mayBeInRedis ||= this.#redis.isUp;
      this.#redis.post(RENEW, keys, [id, String(LEASE_MS)]);
    });
    let isHeld = true;
    return {
      headers: slot.headers,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        slot.release();
        stopRenewing();
        if (mayBeInRedis) this.#redis.endLease(RELEASE, keys, [id]);
      },
    };
  }
}

/** The user id is the hash tag, so that a cluster keeps the keys of one user on one node. Contains ids only, no secrets. */
const redisKey = ({ userId }: LimitedKey, { owner, id }: LimitScope, what: 'rates' | 'open'): string =>
  `dragoman:{${userId}}:${owner === 'user' ? 'user' : `${owner}:${id}`}:${what}`;

const openKeys = (key: LimitedKey, scopes: readonly LimitScope[]): string[] =>
  scopes.filter(({ limits }) => limits.concurrency !== undefined).map((scope) => redisKey(key, scope, 'open'));

function readReply(reply: unknown, count: number): [isIn: boolean, used: LimitUsage[]] {
  const [isAdmitted, ...numbers] = (reply as readonly unknown[]).map(Number);
  const used = Array.from({ length: count }, (_, n) => {
    const [requests = 0, tokens = 0, open = 0] = numbers.slice(3 * n);
    return { requests, tokens, open };
  });
  return [isAdmitted === 1, used];
}

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
