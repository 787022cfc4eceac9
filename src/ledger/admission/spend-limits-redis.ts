/**
 * What keys and users have spent, counted in Redis for all replicas together. The truth stays in the database: every question carries
 * what the asking replica knows from there, and the count is never below it, so that a Redis that has forgotten everything, or was
 * away for a while, is right again within seconds.
 */
import { randomUUID } from 'node:crypto';
import type { Nanos } from '../../core/index.ts';
import { LEASE_MS, type Redis, script } from '../../redis/index.ts';

export interface SpentOf {
  readonly day: Nanos;
  readonly month: Nanos;
  /** Set aside for calls in flight. */
  readonly reserved: Nanos;
}

/** One key or user: what limits it, and what is known of it here. */
export interface SharedSpendScope {
  readonly owner: 'key' | 'user';
  readonly id: string;
  readonly userId: string;
  readonly limitDay: Nanos | undefined;
  readonly limitMonth: Nanos | undefined;
  readonly day: Nanos;
  readonly month: Nanos;
}

/** `day` and `month` count from 1970 and from year 0. */
export interface SpendRequest {
  readonly bound: Nanos;
  readonly day: number;
  readonly month: number;
  readonly sides: readonly SharedSpendScope[];
}

export interface SharedSpendHold {
  end(cost: Nanos): void;
}

export class RedisSpendLimits {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  get isUp(): boolean {
    return this.#redis.isUp;
  }

  /** A hold, or what is spent where it does not fit. Rejects when Redis is down; the hold of `kept` then takes its place. */
  async reserve(wish: SpendRequest, id: string): Promise<SharedSpendHold | readonly SpentOf[]> {
    const { bound, day, month, sides } = wish;
    const reply = await this.#redis.run(RESERVE, keysOf(sides), [
      `${id} ${bound}`,
      String(bound),
      String(LEASE_MS),
      String(day),
      String(month),
      ...sides.flatMap((side) => [
        String(side.limitDay ?? ''),
        String(side.limitMonth ?? ''),
        String(side.day),
        String(side.month),
      ]),
    ]);
    const [isFit, ...amounts] = reply as readonly (string | number)[];
    if (Number(isFit) === 1) return this.kept(wish, id);
    return sides.map((_, n) => {
      const [ofDay = 0, ofMonth = 0, reserved = 0] = amounts.slice(3 * n);
      return { day: BigInt(ofDay), month: BigInt(ofMonth), reserved: BigInt(reserved) };
    });
  }

  /** A hold that has its place in Redis, or gets it once Redis is there. */
  kept({ bound, sides }: SpendRequest, id: string, mayBeThere = true): SharedSpendHold {
    const keys = keysOf(sides);
    const member = `${id} ${bound}`;
    let isThere = mayBeThere;
    const forget = this.#redis.keep(() => {
      isThere ||= this.#redis.isUp;
      this.#redis.post(RENEW, keys, [member, String(bound), String(LEASE_MS)]);
    });
    return {
      end: (cost) => {
        forget();
        const args = [member, String(bound)];
        // Later without the cost: by then it is in what the replicas know from the database.
        if (isThere || this.#redis.isUp) this.#redis.end(END, keys, [...args, String(cost)], [...args, '0']);
      },
    };
  }
}

export const newHoldId = (): string => randomUUID();

/** Everything of one user is in one place of a cluster. */
const keysOf = (sides: readonly SharedSpendScope[]): string[] =>
  sides.flatMap(({ owner, id, userId }) => {
    const name = `dragoman:{${userId}}:${owner === 'key' ? `key:${id}` : 'user'}`;
    return [`${name}:spent`, `${name}:holds`];
  });

/**
 * Amounts are kept and added as integers of 64 bits, and compared as doubles: exact up to nine million dollars. Each side has a hash
 * (day, month, what was spent in each, what is reserved) and a sorted set of its holds ("id bound") by the time at which they end of
 * themselves. Both outlive a month, so that no hold ends without its part of `reserved`.
 */
const COMMON = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local day = math.floor(time[1] / 86400)
-- The calendar, by counting from the first of March of year 0.
local z = day + 719468
local era = math.floor(z / 146097)
local doe = z - era * 146097
local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
local march = math.floor((5 * doy + 2) / 153)
local month = (yoe + era * 400) * 12 + march + 2
local function roll(spent)
  local was = redis.call('HMGET', spent, 'day', 'month')
  if tonumber(was[1]) ~= day then redis.call('HSET', spent, 'day', day, 'of_day', 0) end
  if tonumber(was[2]) ~= month then redis.call('HSET', spent, 'month', month, 'of_month', 0) end
end
local function drop(spent, holds, member, bound)
  if redis.call('ZREM', holds, member) == 1 then redis.call('HINCRBY', spent, 'reserved', '-' .. bound) end
end
local function purge(spent, holds)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', holds, '-inf', now)) do
    drop(spent, holds, member, string.match(member, ' (%d+)$'))
  end
end
local function hold(spent, holds, member, bound, lease)
  if redis.call('ZADD', holds, now + lease, member) == 1 then redis.call('HINCRBY', spent, 'reserved', bound) end
  for _, key in ipairs({ spent, holds }) do redis.call('EXPIRE', key, 3456000) end
end
`;

/** KEYS: both of each side. ARGV: hold, bound, lease, day, month, and of each side its limits (or '') and what is known to be spent. */
const RESERVE = script(`${COMMON}
local isFit, amounts = 1, {}
local bound = tonumber(ARGV[2])
for n = 1, #KEYS / 2 do
  local spent, holds = KEYS[2 * n - 1], KEYS[2 * n]
  roll(spent)
  purge(spent, holds)
  local known = { of_day = ARGV[4 * n + 4], of_month = ARGV[4 * n + 5] }
  local isNow = { of_day = tonumber(ARGV[4]) == day, of_month = tonumber(ARGV[5]) == month }
  local limits = { of_day = tonumber(ARGV[4 * n + 2]), of_month = tonumber(ARGV[4 * n + 3]) }
  local reserved = redis.call('HGET', spent, 'reserved') or '0'
  for _, period in ipairs({ 'of_day', 'of_month' }) do
    local sum = redis.call('HGET', spent, period)
    if isNow[period] and tonumber(known[period]) > tonumber(sum) then
      sum = known[period]
      redis.call('HSET', spent, period, sum)
    end
    if limits[period] and tonumber(sum) + tonumber(reserved) + bound > limits[period] then isFit = 0 end
    amounts[#amounts + 1] = sum
  end
  amounts[#amounts + 1] = reserved
end
if isFit == 1 then
  for n = 1, #KEYS, 2 do hold(KEYS[n], KEYS[n + 1], ARGV[1], ARGV[2], ARGV[3]) end
end
return { isFit, unpack(amounts) }`);

/** ARGV: hold, bound, lease. */
const RENEW = script(`${COMMON}
for n = 1, #KEYS, 2 do hold(KEYS[n], KEYS[n + 1], ARGV[1], ARGV[2], ARGV[3]) end`);

/** ARGV: hold, bound, cost. What Redis knows nothing of is not begun with one call. */
const END = script(`${COMMON}
for n = 1, #KEYS, 2 do
  local spent = KEYS[n]
  drop(spent, KEYS[n + 1], ARGV[1], ARGV[2])
  if redis.call('HEXISTS', spent, 'of_day') == 1 then
    roll(spent)
    redis.call('HINCRBY', spent, 'of_day', ARGV[3])
    redis.call('HINCRBY', spent, 'of_month', ARGV[3])
  end
end`);
