/**
 * Keeps count in Redis, for all replicas together; a call waits for one round trip when it enters, and for nothing when it leaves.
 * While Redis is down every replica counts for itself, and it counts along while it is up, so that the change is no holiday.
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

  acquire(who: LimitedKey): Slot | undefined | Promise<Slot> {
    if (!who.limits && !who.userLimits) return undefined;
    const sides = scopesOf(who);
    if (sides.length === 0) return undefined;
    const id = randomUUID();
    if (this.#redis.isUp) return this.#ask(id, who, sides);
    const visit = this.#local.acquire(who);
    return visit && this.#kept(id, who, sides, visit, false);
  }

  count(who: LimitedKey, tokens: number): void {
    if (!who.limits && !who.userLimits) return;
    this.#local.count(who, tokens);
    const sides = scopesOf(who).filter(({ limits }) => limits.tpm !== undefined);
    if (sides.length === 0) return;
    const keys = sides.map((side) => keyOf(who, side, 'rates'));
    this.#redis.post(COUNT, keys, [String(tokens), ...sides.map(({ limits }) => String(limits.tpm))]);
  }

  async #ask(id: string, who: LimitedKey, sides: readonly LimitScope[]): Promise<Slot> {
    const keys = sides.flatMap((side) => [keyOf(who, side, 'rates'), keyOf(who, side, 'open')]);
    const args = sides.flatMap(({ limits: { rpm = 0, tpm = 0, concurrency = 0 } }) => [rpm, tpm, concurrency]);
    let reply: unknown;
    try {
      reply = await this.#redis.run(ENTER, keys, [id, String(LEASE_MS), ...args.map(String)]);
    } catch {
      // Its place may be taken there; it is given back like any other.
      return this.#kept(id, who, sides, this.#local.acquire(who) ?? this.#local.take(sides));
    }
    const [isIn, used] = readUsed(reply, sides.length);
    if (!isIn) throw limitRejection(sides, used);
    return this.#kept(id, who, sides, { ...this.#local.take(sides), headers: limitHeaders(sides, used) });
  }

  /** A visit that has a place in Redis keeps it, or gets it once Redis is there, until it leaves. */
  #kept(id: string, who: LimitedKey, sides: readonly LimitScope[], visit: Slot, mayBeThere = true): Slot {
    const keys = sides.flatMap((side) => (side.limits.concurrency === undefined ? [] : [keyOf(who, side, 'open')]));
    if (keys.length === 0) return visit;
    let isThere = mayBeThere;
    const forget = this.#redis.keep(() => {
      isThere ||= this.#redis.isUp;
      this.#redis.post(RENEW, keys, [id, String(LEASE_MS)]);
    });
    let isHere = true;
    return {
      headers: visit.headers,
      release: () => {
        if (!isHere) return;
        isHere = false;
        visit.release();
        forget();
        if (isThere) this.#redis.end(LEAVE, keys, [id]);
      },
    };
  }
}

/** Everything of one user is in one place of a cluster. Ids only: nothing here opens anything. */
const keyOf = ({ userId }: LimitedKey, { owner, id }: LimitScope, what: 'rates' | 'open'): string =>
  `dragoman:{${userId}}:${owner === 'key' ? `key:${id}` : 'user'}:${what}`;

function readUsed(reply: unknown, count: number): [isIn: boolean, used: LimitUsage[]] {
  const [isIn, ...numbers] = (reply as readonly unknown[]).map(Number);
  const used = Array.from({ length: count }, (_, n) => {
    const [requests = 0, tokens = 0, open = 0] = numbers.slice(3 * n);
    return { requests, tokens, open };
  });
  return [isIn === 1, used];
}

/** The time is that of Redis: clocks of replicas differ. `used` is what limiter.ts calls so. */
const COMMON = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function drained(used, at, perMinute)
  if perMinute == 0 then return 0 end
  local passed = math.max(0, now - (tonumber(at) or now))
  return math.max(0, (tonumber(used) or 0) - passed * perMinute / 60000)
end
local function keep(key, requests, rpm, tokens, tpm)
  local minutes = math.max(rpm > 0 and requests / rpm or 0, tpm > 0 and tokens / tpm or 0)
  redis.call('PEXPIRE', key, math.ceil(minutes * 60000) + 60000)
end
local function exact(number) return string.format('%.17g', number) end
`;

/** KEYS: rates and open calls of each side. ARGV: visit, lease, and rpm, tpm and concurrency of each side; 0 is without limit. */
const ENTER = script(`${COMMON}
local isIn, sides = 1, {}
for n = 1, #KEYS / 2 do
  local rates, open = KEYS[2 * n - 1], KEYS[2 * n]
  local rpm, tpm, concurrency = tonumber(ARGV[3 * n]), tonumber(ARGV[3 * n + 1]), tonumber(ARGV[3 * n + 2])
  local was = redis.call('HMGET', rates, 'requests', 'requests_at', 'tokens', 'tokens_at')
  local requests, tokens, count = drained(was[1], was[2], rpm), drained(was[3], was[4], tpm), 0
  if concurrency > 0 then
    redis.call('ZREMRANGEBYSCORE', open, '-inf', now)
    count = redis.call('ZCARD', open)
  end
  if (rpm > 0 and rpm - requests < 1 - 1e-6) or (tpm > 0 and tpm - tokens < 1 - 1e-6)
    or (concurrency > 0 and count >= concurrency) then isIn = 0 end
  sides[n] = { rates = rates, open = open, rpm = rpm, tpm = tpm, concurrency = concurrency, requests = requests, tokens = tokens, count = count }
end
local reply = { isIn }
for _, side in ipairs(sides) do
  if isIn == 1 then
    side.requests = side.rpm > 0 and side.requests + 1 or 0
    redis.call('HSET', side.rates, 'requests', exact(side.requests), 'requests_at', now, 'tokens', exact(side.tokens), 'tokens_at', now)
    keep(side.rates, side.requests, side.rpm, side.tokens, side.tpm)
    if side.concurrency > 0 then
      redis.call('ZADD', side.open, now + ARGV[2], ARGV[1])
      redis.call('PEXPIRE', side.open, ARGV[2])
    end
  end
  reply[#reply + 1] = exact(side.requests)
  reply[#reply + 1] = exact(side.tokens)
  reply[#reply + 1] = side.count
end
return reply`);

/** KEYS: rates of each side that has a limit of tokens. ARGV: tokens, and each limit. */
const COUNT = script(`${COMMON}
for n, rates in ipairs(KEYS) do
  local tpm = tonumber(ARGV[n + 1])
  local was = redis.call('HMGET', rates, 'tokens', 'tokens_at')
  local tokens = drained(was[1], was[2], tpm) + ARGV[1]
  redis.call('HSET', rates, 'tokens', exact(tokens), 'tokens_at', now)
  keep(rates, 0, 0, tokens, tpm)
end`);

/** KEYS: open calls of each side that limits them. ARGV: visit, lease. */
const RENEW = script(`${COMMON}
for _, open in ipairs(KEYS) do
  redis.call('ZADD', open, now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', open, ARGV[2])
end`);

const LEAVE = script(`
for _, open in ipairs(KEYS) do redis.call('ZREM', open, ARGV[1]) end`);
