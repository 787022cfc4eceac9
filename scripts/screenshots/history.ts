/**
 * Weeks of traffic for the charts: calls with a daily rhythm, their roll-ups, and the usage and entries that belong to
 * them.
 */
import { RequestRollUp } from '../../src/observe/request-log/index.ts';
import { connect } from '../../src/platform/db/index.ts';
import type { AppContext } from '../../src/program/server/index.ts';

const DAYS = 14;
/** Runs of the roll-up, which builds 48 hours at a time. */
const ROLL_UPS = 8;

export async function fillHistory({ database }: AppContext): Promise<void> {
  const client = await connect(database.url);
  try {
    await client.query(
      `select request_day(d::date) from generate_series(now() - $1 * interval '1 day', now(), interval '1 day') d`,
      [DAYS],
    );
    await client.query(CALLS, [DAYS]);
    await client.query(
      `insert into request_hours_due
       select h from generate_series(date_trunc('hour', now()) - $1 * interval '1 day', now(), interval '1 hour') h on conflict do nothing`,
      [DAYS],
    );
    await client.query(DAILY);
    await client.query(ENTRIES);
  } finally {
    await client.end();
  }
}

/** Charts read roll-ups, which a worker builds once a minute. */
export async function rollUpHistory({ database, clock }: AppContext): Promise<void> {
  const rollUp = new RequestRollUp(database, clock);
  for (let run = 0; run < ROLL_UPS; run += 1) await rollUp.run();
}

/**
 * Every minute up to four calls, most of them in the afternoon; one in ninety fails, and one in forty waits for another
 * account.
 */
const CALLS = `
  insert into requests (at, id, user_id, key_id, group_id, operation, model, upstream_model, client, target, stream, status, outcome, code,
    error, account_id, attempts, first_byte_ms, total_ms, added_ms, failover_ms, usage, nanos, cost_nanos, price_id, group_ppm, user_ppm, estimated)
  select at, 'req_' || substr(md5(n || 'call'), 1, 24), 'demo', 'key_1', kind, 'messages.create', 'demo-' || kind, 'demo-' || kind, 'messages',
    kind, true, case when is_failed then 502 else 200 end, case when is_failed then 'failed' else 'completed' end,
    case when is_failed then 'upstream_error' end, case when is_failed then 'provider' end, 'demo-' || kind,
    jsonb_build_array(jsonb_build_object('account', 'demo-' || kind, 'outcome', case when is_failed then 'upstream_error' else 'ok' end,
      'status', case when is_failed then 502 else 200 end, 'start_ms', 1.2, 'first_byte_ms', wait, 'end_ms', wait * 3)),
    wait, wait * 3, 0.6 + hash % 23 / 10.0, case when hash % 40 = 0 then 80 + hash % 300 end,
    case when not is_failed then '{"input":1500,"cacheRead":400,"cacheWrite":0,"output":250}'::jsonb end,
    case when not is_failed then 6000000 + hash % 4000000 end, case when not is_failed then 4600000 + hash % 2900000 end, 1, 1000000, 1000000, false
  from generate_series(1, $1::int * 1440) n, lateral (select abs(hashint4(n)) as hash, now() - n * interval '1 minute' as at) t,
    lateral (select 300 + hash % 900 as wait, (array['responses', 'messages', 'messages'])[1 + hash % 3] as kind, hash % 90 = 0 as is_failed) v
  where hash % 100 < 45 + 40 * sin((extract(hour from at) - 8) * pi() / 12)`;

const DAILY = `
  insert into usage_daily (user_id, day, key_id, group_id, model, account_id, operation, requests, input_tokens, cached_input_tokens,
    cache_write_tokens, output_tokens, reasoning_tokens, audio_tokens, image_tokens, searches, images, nanos, estimated, cost_unknown, cost_nanos)
  select user_id, (at at time zone 'UTC')::date, key_id, group_id, model, account_id, operation, count(*), count(*) * 1900, count(*) * 400, 0,
    count(*) * 250, 0, 0, 0, 0, 0, sum(nanos), 0, 0, sum(cost_nanos)
  from requests where key_id = 'key_1' and nanos is not null group by 1, 2, 3, 4, 5, 6, 7`;

/** A credit that pays for all of it, and one debit a day. */
const ENTRIES = `
  with spent as (select day, sum(nanos)::bigint as nanos from usage_daily where key_id = 'key_1' group by day),
    total as (select sum(nanos)::bigint as nanos from spent),
    booked as (
      insert into entries (debit, credit, nanos, kind, reference, reason, created_at)
      select '@funding', 'demo', nanos, 'credit', 'invoice-2026-101', 'Bank transfer', now() - interval '15 days' from total union all
      select 'demo', '@revenue', nanos, 'usage', 'history:' || day, 'calls of a day', day + interval '1 day' from spent where day < current_date union all
      select 'demo', '@revenue', nanos, 'usage', 'history:' || day, 'calls of a day', now() from spent where day >= current_date)
  update wallets set credits = credits + total.nanos, debits = debits + total.nanos from total where user_id = 'demo'`;
