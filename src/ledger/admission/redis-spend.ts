/**
 * Spend counters in Redis, shared by all replicas; while it is down, each counts alone.
 * No counter is lower than the totals that a request carries.
 */
import type { MaybePromise, Nanos } from '../../core/index.ts';
import { LEASE_MS, type Redis, script } from '../../platform/redis/index.ts';
import * as spend from './spend-counts.ts';

export class RedisSpend implements spend.SpendCounts {
  readonly #redis: Redis;
  readonly #local: spend.LocalSpend;

  constructor(redis: Redis, local: spend.LocalSpend) {
    this.#redis = redis;
    this.#local = local;
  }

  reserve(scopes: readonly spend.SpendScope[], maxCost: Nanos): MaybePromise<spend.Reserved> {
    const question = this.#local.question(scopes, maxCost);
    const lease: Lease = { member: `${question.id} ${maxCost}`, maxCost: question.maxCost, keys: keysOf(scopes) };
    return this.#redis.isUp
      ? this.#reserveShared(scopes, question, lease)
      : this.#reserveAlone(scopes, maxCost, () => this.#renewed(lease, false));
  }

  async #reserveShared(
    scopes: readonly spend.SpendScope[],
    { maxCost, day, month, scopes: known }: spend.SpendQuestion,
    lease: Lease,
  ): Promise<spend.Reserved> {
    let reply: readonly (string | number)[];
    try {
      reply = (await this.#redis.run(RESERVE, lease.keys, [
        lease.member,
        maxCost,
        String(LEASE_MS),
        String(day),
        String(month),
        ...known.flatMap(({ limits, amounts }) => [
          ...spend.PERIODS.map((period) => limits[period] ?? ''),
          ...spend.PERIODS.map((period) => amounts[period]),
        ]),
      ])) as readonly (string | number)[];
    } catch {
      // Redis has just failed. It may have counted the hold, so the hold must end there as well.
      return this.#reserveAlone(scopes, BigInt(maxCost), () => this.#renewed(lease, true));
    }
    const [fits, ...amounts] = reply;
    if (Number(fits) === 1)
      return spend.bothHolds(this.#local.add(scopes, BigInt(maxCost)), this.#renewed(lease, true));
    return scopes.map((_, n) => {
      const [ofDay = 0, ofMonth = 0, ofLife = 0, reserved = 0] = amounts.slice(4 * n);
      return { day: BigInt(ofDay), month: BigInt(ofMonth), total: BigInt(ofLife), reserved: BigInt(reserved) };
    });
  }

  #reserveAlone(scopes: readonly spend.SpendScope[], maxCost: Nanos, lease: () => spend.SpendHold): spend.Reserved {
    const result = this.#local.reserve(scopes, maxCost);
    return 'end' in result ? spend.bothHolds(result, lease()) : result;
  }

  /**
   * Renews the hold in Redis until it ends. `mayExist` is false when Redis was down, so it does not know the hold yet.
   */
  #renewed({ member, maxCost, keys }: Lease, mayExist: boolean): spend.SpendHold {
    let isKnown = mayExist;
    const stopRenewing = this.#redis.onRenew(() => {
      isKnown ||= this.#redis.isUp;
      this.#redis.post(RENEW, keys, [member, maxCost, String(LEASE_MS)]);
    });
    return {
      end: (cost) => {
        stopRenewing();
        const args = [member, maxCost];
        // A delayed end carries no cost: by then the cost is in the totals that replicas read from the database.
        if (isKnown || this.#redis.isUp) this.#redis.endLease(END, keys, [...args, String(cost)], [...args, '0']);
      },
    };
  }
}

interface Lease {
  readonly member: string;
  readonly maxCost: string;
  readonly keys: readonly string[];
}

/** The hash tag in braces keeps all keys of one user on one node of a cluster. */
const keysOf = (scopes: readonly spend.SpendScope[]): string[] =>
  scopes.flatMap(({ counter: { owner, id, userId } }) => {
    const name = `dragoman:{${userId}}:${owner === 'key' ? `key:${id}` : 'user'}`;
    return [`${name}:spent`, `${name}:holds`];
  });

/**
 * Of each scope a hash of sums and a sorted set of holds by expiry, which outlive a month.
 * Integers, compared as doubles: exact to nine million dollars.
 */
const COMMON = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local day = math.floor(time[1] / 86400)
-- Civil calendar arithmetic: days and months counted from 1 March of year 0.
local z = day + 719468
local era = math.floor(z / 146097)
local doe = z - era * 146097
local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
local march = math.floor((5 * doy + 2) / 153)
local month = (yoe + era * 400) * 12 + march + 2
local function start_period(spent)
  local last = redis.call('HMGET', spent, 'day', 'month')
  if tonumber(last[1]) ~= day then redis.call('HSET', spent, 'day', day, 'of_day', 0) end
  if tonumber(last[2]) ~= month then redis.call('HSET', spent, 'month', month, 'of_month', 0) end
end
local function drop(spent, holds, member, max_cost)
  if redis.call('ZREM', holds, member) == 1 then redis.call('HINCRBY', spent, 'reserved', '-' .. max_cost) end
end
local function purge(spent, holds)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', holds, '-inf', now)) do
    drop(spent, holds, member, string.match(member, ' (%d+)$'))
  end
end
local function hold(spent, holds, member, max_cost, lease)
  if redis.call('ZADD', holds, now + lease, member) == 1 then redis.call('HINCRBY', spent, 'reserved', max_cost) end
  for _, key in ipairs({ spent, holds }) do redis.call('EXPIRE', key, 3456000) end
end
`;

/**
 * KEYS: two of each scope. ARGV: hold, maxCost, lease, day, month,
 * then of each scope its three limits (or '') and three known totals.
 */
const RESERVE = script(`${COMMON}
local fits, amounts = 1, {}
local max_cost = tonumber(ARGV[2])
for n = 1, #KEYS / 2 do
  local spent, holds = KEYS[2 * n - 1], KEYS[2 * n]
  start_period(spent)
  purge(spent, holds)
  local at = 6 * n - 1
  local limits = { of_day = tonumber(ARGV[at + 1]), of_month = tonumber(ARGV[at + 2]) }
  local known = { of_day = ARGV[at + 4], of_month = ARGV[at + 5] }
  local is_current = { of_day = tonumber(ARGV[4]) == day, of_month = tonumber(ARGV[5]) == month }
  local reserved = redis.call('HGET', spent, 'reserved') or '0'
  for _, period in ipairs({ 'of_day', 'of_month' }) do
    local sum = redis.call('HGET', spent, period)
    if is_current[period] and tonumber(known[period]) > tonumber(sum) then
      sum = known[period]
      redis.call('HSET', spent, period, sum)
    end
    if limits[period] and tonumber(sum) + tonumber(reserved) + max_cost > limits[period] then fits = 0 end
    amounts[#amounts + 1] = sum
  end
  local life, limit = tonumber(ARGV[at + 6]), tonumber(ARGV[at + 3])
  if is_current.of_month then life = life + tonumber(amounts[#amounts]) - tonumber(known.of_month) end
  if limit and life + tonumber(reserved) + max_cost > limit then fits = 0 end
  amounts[#amounts + 1] = string.format('%.0f', life)
  amounts[#amounts + 1] = reserved
end
if fits == 1 then
  for n = 1, #KEYS, 2 do hold(KEYS[n], KEYS[n + 1], ARGV[1], ARGV[2], ARGV[3]) end
end
return { fits, unpack(amounts) }`);

/** ARGV: hold, maxCost, lease. */
const RENEW = script(`${COMMON}
for n = 1, #KEYS, 2 do hold(KEYS[n], KEYS[n + 1], ARGV[1], ARGV[2], ARGV[3]) end`);

/**
 * ARGV: hold, maxCost, cost. Does not create a missing counter:
 * one that starts with a single call would be far too low.
 */
const END = script(`${COMMON}
for n = 1, #KEYS, 2 do
  local spent = KEYS[n]
  drop(spent, KEYS[n + 1], ARGV[1], ARGV[2])
  if redis.call('HEXISTS', spent, 'of_day') == 1 then
    start_period(spent)
    redis.call('HINCRBY', spent, 'of_day', ARGV[3])
    redis.call('HINCRBY', spent, 'of_month', ARGV[3])
  end
end`);
