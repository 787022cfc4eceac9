/**
 * Counts of rate limits in Redis, shared by all replicas.
 * Each keeps its own counts up to date, so that limits stay in force while Redis is down.
 */
import { randomUUID } from 'node:crypto';
import { FIRST_REQUESTS, type MaybePromise, OPEN_RETRY_MS, WINDOW_MS } from '../../core/index.ts';
import { LEASE_MS, type Redis, script } from '../../platform/redis/index.ts';
import type { AccountUsage } from './account-usage.ts';
import type { LimitCounts, LimitScope, LimitUsage, Take } from './limiter.ts';
import { IDLE_MS, type LocalLimits } from './local-limits.ts';

export class RedisLimits implements LimitCounts {
  readonly #redis: Redis;
  readonly #local: LocalLimits;
  readonly #now: () => string;

  /**
   * `now`: milliseconds for a test that owns the clock;
   * the empty text is the clock of Redis, because the clocks of replicas differ.
   */
  constructor(redis: Redis, local: LocalLimits, now: () => string = () => '') {
    this.#redis = redis;
    this.#local = local;
    this.#now = now;
  }

  take(scopes: readonly LimitScope[]): MaybePromise<Take> {
    const lease: Lease = { id: randomUUID(), keys: openKeys(scopes) };
    return this.#redis.isUp ? this.#takeShared(lease, scopes) : this.#renewed(lease, this.#local.take(scopes), false);
  }

  count(scopes: readonly LimitScope[], tokens: number): void {
    this.#local.count(scopes, tokens);
    const keys = scopes.map((scope) => redisKey(scope, 'tokens'));
    this.#redis.post(COUNT, keys, [this.#now(), String(tokens)]);
  }

  async #takeShared(lease: Lease, scopes: readonly LimitScope[]): Promise<Take> {
    const keys = scopes.flatMap((scope) => KINDS.map((what) => redisKey(scope, what)));
    const args = scopes.flatMap(({ burst, limits: { rpm, tpm, concurrency } }) => [rpm, burst, tpm, concurrency]);
    let reply: { readonly admitted: boolean; readonly used: readonly LimitUsage[] };
    try {
      const given = [this.#now(), lease.id, String(LEASE_MS), ...args.map((limit = 0) => String(limit))];
      reply = JSON.parse(String(await this.#redis.run(ACQUIRE, keys, given)));
    } catch {
      // The script may have run, so the request ends in Redis too.
      return this.#renewed(lease, this.#local.take(scopes), true);
    }
    const { admitted, used } = reply;
    return this.#renewed(lease, { used, release: admitted ? this.#local.add(scopes) : undefined }, true);
  }

  /**
   * Renews the request in Redis until it ends.
   * A request that was counted locally is added to Redis after the reconnect.
   */
  #renewed({ id, keys }: Lease, take: Take, isInRedis: boolean): Take {
    const { used, release } = take;
    if (!release || keys.length === 0) return take;
    let mayBeInRedis = isInRedis;
    const stopRenewing = this.#redis.onRenew(() => {
      mayBeInRedis ||= this.#redis.isUp;
      this.#redis.post(RENEW, keys, [this.#now(), id, String(LEASE_MS)]);
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

/**
 * Counts what accounts with limits have used on all replicas.
 * Nothing waits: each learns the sum after its own requests (base: `SharedHealth`).
 */
export function shareUsage(redis: Redis, usage: AccountUsage): void {
  usage.onUsed = (id, rate, units) => {
    const counted = redis.run(COUNT, [`dragoman:{account:${id}}:${rate}`], ['', String(units)]);
    counted.then((total) => usage.learn(id, rate, Number(total))).catch(() => {});
  };
}

/** An open request in Redis, which expires unless it is renewed. */
interface Lease {
  readonly id: string;
  /** Of the scopes for which open requests count. */
  readonly keys: readonly string[];
}

const KINDS = ['requests', 'tokens', 'open'] as const;

/**
 * The user id is the hash tag, so that a cluster keeps the keys of one user on one node. Contains ids only, no secrets.
 */
const redisKey = ({ owner, id, userId }: LimitScope, what: (typeof KINDS)[number]): string =>
  `dragoman:{${userId}}:${owner === 'user' ? 'user' : `${owner}:${id}`}:${what}`;

const openKeys = (scopes: readonly LimitScope[]): string[] =>
  scopes
    .filter(({ limits: { concurrency, tpm } }) => concurrency !== undefined || tpm !== undefined)
    .map((scope) => redisKey(scope, 'open'));

/**
 * The rules of rate-window.ts over a hash: `state`, and a cell by number.
 * After a clock was set back, the whole window is one cell of this moment.
 */
const COMMON = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local function read(key, field)
  local numbers = {}
  for number in string.gmatch(redis.call('HGET', key, field) or '', '%S+') do
    numbers[#numbers + 1] = tonumber(number)
  end
  return unpack(numbers)
end
local function write(key, field, ...)
  redis.call('HSET', key, field, string.format(string.rep('%.17g ', select('#', ...)), ...))
end
local function save(window)
  write(window.key, 'state', window.first, window.next, window.units, window.events, window.newest, window.mean)
  redis.call('PEXPIRE', window.key, ${IDLE_MS})
end
local function open_window(key)
  local first, next, units, events, newest, mean = read(key, 'state')
  local window = { key = key, first = first or 0, next = next or 0, units = units or 0, events = events or 0,
    newest = newest or now, mean = mean or -1 }
  if window.newest > now + 1000 then
    redis.call('DEL', key)
    window.first, window.next, window.newest = 0, 1, now
    write(key, 0, now, now, window.units, window.events)
    save(window)
  end
  window.now = math.max(now, window.newest)
  local oldest = window.first
  while window.first < window.next do
    local _, last, cell_units, cell_events = read(key, window.first)
    if last > window.now - ${WINDOW_MS} then break end
    redis.call('HDEL', key, window.first)
    window.first, window.units, window.events = window.first + 1, window.units - cell_units, window.events - cell_events
  end
  if window.first > oldest then save(window) end
  return window
end
local function add(window, added)
  local start, units, events = nil, 0, 0
  if window.first < window.next then
    local _
    start, _, units, events = read(window.key, window.next - 1)
  end
  if not start or window.now - start >= 100 then
    start, units, events = window.now, 0, 0
    window.next = window.next + 1
  end
  write(window.key, window.next - 1, start, window.now, units + added, events + 1)
  window.units, window.events, window.newest = window.units + added, window.events + 1, window.now
  window.mean = window.units / window.events
  save(window)
end
local function window_wait(window, max)
  local left, wait = window.units, 0
  for n = window.first, window.next - 1 do
    if left <= max then return wait end
    local _, last, units = read(window.key, n)
    left, wait = left - units, last + ${WINDOW_MS} - window.now
  end
  return wait
end
local function burst_wait(window, max)
  local sum = 0
  for n = window.next - 1, window.first, -1 do
    local _, last, units = read(window.key, n)
    if last <= window.now - 1000 then return 0 end
    sum = sum + units
    if sum > max then return last + 1000 - window.now end
  end
  return 0
end
local function use_of(window, wait)
  local reset = window.first < window.next and window.newest + ${WINDOW_MS} - window.now or 0
  return { used = window.units, waitMs = wait, resetMs = reset }
end
`;

/**
 * KEYS: requests, tokens and open slots of each scope.
 * ARGV: time, slot id, lease in ms, then rpm, burst, tpm and concurrency of each; 0 = no limit.
 */
const ACQUIRE = script(`${COMMON}
local admitted, scopes, used = true, {}, {}
for n = 1, #KEYS / 3 do
  local scope = {
    requests = open_window(KEYS[3 * n - 2]), tokens = open_window(KEYS[3 * n - 1]), open = KEYS[3 * n],
    wait = 0, token_wait = 0, count = 0,
  }
  local rpm, burst = tonumber(ARGV[4 * n]), tonumber(ARGV[4 * n + 1])
  local tpm, concurrency = tonumber(ARGV[4 * n + 2]), tonumber(ARGV[4 * n + 3])
  scope.rpm, scope.counts_open = rpm, concurrency > 0 or tpm > 0
  if scope.counts_open then
    redis.call('ZREMRANGEBYSCORE', scope.open, '-inf', now)
    scope.count = redis.call('ZCARD', scope.open)
  end
  if rpm > 0 then
    scope.wait = window_wait(scope.requests, rpm - 1)
    if burst < rpm then scope.wait = math.max(scope.wait, burst_wait(scope.requests, burst - 1)) end
  end
  if tpm > 0 then
    local expected = scope.tokens.mean < 0 and tpm / ${FIRST_REQUESTS} or math.min(scope.tokens.mean, tpm)
    local max = tpm - (scope.count + 1) * expected
    scope.token_wait = window_wait(scope.tokens, math.max(0, max))
    if max < 0 then scope.token_wait = math.max(scope.token_wait, ${OPEN_RETRY_MS}) end
  end
  local is_full = concurrency > 0 and scope.count >= concurrency
  if scope.wait > 0 or scope.token_wait > 0 or is_full then admitted = false end
  scopes[n] = scope
end
for n, scope in ipairs(scopes) do
  if admitted and scope.rpm > 0 then add(scope.requests, 1) end
  if admitted and scope.counts_open then
    redis.call('ZADD', scope.open, now + ARGV[3], ARGV[2])
    redis.call('PEXPIRE', scope.open, ARGV[3])
  end
  used[n] = {
    requests = use_of(scope.requests, scope.wait),
    tokens = use_of(scope.tokens, scope.token_wait),
    open = scope.count,
  }
end
return cjson.encode({ admitted = admitted, used = used })`);

/** KEYS: windows. ARGV: time, units. Returns the units of the last one. */
const COUNT = script(`${COMMON}
local window
for _, key in ipairs(KEYS) do
  window = open_window(key)
  add(window, tonumber(ARGV[2]))
end
return window.units`);

/** KEYS: open slots of each scope that counts them. ARGV: time, slot id, lease in ms. */
const RENEW = script(`${COMMON}
for _, open in ipairs(KEYS) do
  redis.call('ZADD', open, now + ARGV[3], ARGV[2])
  redis.call('PEXPIRE', open, ARGV[3])
end`);

const RELEASE = script(`
for _, open in ipairs(KEYS) do redis.call('ZREM', open, ARGV[1]) end`);
