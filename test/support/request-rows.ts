/** Generates days of traffic for the request log. */
import type { Client } from 'pg';

export interface LoggedTraffic {
  readonly rows: number;
  readonly days: number;
  /** The last UTC day with calls. */
  readonly lastDay: string;
}

/**
 * A thousand users with three keys each, 20 models, 40 accounts, one failure in fifty. Each column also has a value
 * that only one call of the first day has: `rare`.
 */
export async function fillRequests(client: Client, { rows, days, lastDay }: LoggedTraffic): Promise<void> {
  await client.query(
    `select request_day(d::date) from generate_series($1::date - ($2::int - 1), $1::date, interval '1 day') d`,
    [lastDay, days],
  );
  await client.query(
    `insert into requests (at, id, user_id, key_id, group_id, operation, model, upstream_model, client, target, stream, status, outcome,
       code, error, account_id, attempts, first_byte_ms, total_ms, added_ms, usage, nanos, cost_nanos, price_id, group_ppm, user_ppm,
       estimated)
     select moment.at, 'req_' || lpad(to_hex((extract(epoch from moment.at) * 1000)::bigint), 12, '0') || substr(md5(n::text), 1, 12), value.user_id, value.key_id, value.group_id, value.operation, value.model, value.model, 'chat',
       'chat', n % 2 = 0, value.status, 'completed', case when value.status <> 200 then 'upstream_error' end,
       case when n = 7 then 'ours' when value.status <> 200 then 'provider' end, value.account_id,
       jsonb_build_array(jsonb_build_object('account', value.account_id, 'model', value.model, 'outcome', 'ok', 'status', 200,
         'start_ms', 1.2, 'first_byte_ms', 300 + n % 900, 'end_ms', 900 + n % 2000)),
       300 + n % 900, 901 + n % 2000, 1 + (n % 17) / 10.0,
       '{"input":1500,"cacheRead":400,"cacheWrite":0,"output":250}', 1000 + n % 5000, 700 + n % 3000, 1, 1000000, 1000000, false
     from (select ($1::date - ($2::int - 1))::timestamp at time zone 'UTC' as at) begin cross join generate_series(1, $3::int) n cross join lateral (
       select greatest(begin.at, date_trunc('milliseconds', begin.at + (n * ($2::float8 / $3::float8)) * interval '1 day' - interval '1 second')) as at
     ) moment cross join lateral (
       select case when n = 7 then 'rare' else 'u' || n % 1000 end as user_id,
         case when n = 7 then 'rare' else 'key_' || n % 3000 end as key_id,
         case when n = 7 then 'rare' else 'group-' || n % 4 end as group_id,
         case when n = 7 then 'rare' else (array['chat.create', 'messages.create', 'responses.create'])[1 + n % 3] end as operation,
         case when n = 7 then 'rare' else 'model-' || n % 20 end as model,
         case when n = 7 then 418 when n % 50 = 0 then 502 else 200 end as status,
         case when n = 7 then 'rare' else 'account-' || n % 40 end as account_id) value`,
    [lastDay, days, rows],
  );
  await client.query('vacuum (analyze) requests');
}
