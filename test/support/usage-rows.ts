/** Generates years of traffic: usage records with their roll-ups and ledger entries. */
import type { Client } from 'pg';

export interface Traffic {
  readonly rows: number;
  /** Users are named `u1`, `u2` and so on. */
  readonly users: number;
  readonly days: number;
  readonly lastDay: string;
}

/** Two keys and three models per user, in order of time, as a flusher writes them. */
export async function fillUsage(client: Client, { rows, users, days, lastDay }: Traffic): Promise<void> {
  await client.query(
    `select usage_month(d::date) from generate_series($1::date - ($2::int - 1), $1::date + 31, interval '1 day') d`,
    [lastDay, days],
  );
  await client.query(`insert into users (id) select 'u' || n from generate_series(1, $1::int) n`, [users]);
  await client.query(
    `insert into usage_records (
       id, at, user_id, key_id, group_id, account_id, model, operation, request_id, input_tokens, cached_input_tokens,
       cache_write_tokens, output_tokens, reasoning_tokens, images, usage, nanos, price_id, estimated)
     select 'use_' || lpad(n::text, 12, '0'),
       ($1::date - ($2::int - 1))::timestamp at time zone 'UTC' + (n * ($2::float8 / $3::float8)) * interval '1 day' - interval '1 second',
       'u' || (1 + n % $4::int), 'key_' || (n / 7 % 2), 'openai', 'oa1', 'model-' || (n / 11 % 3), 'chat.create', 'req_' || n,
       500 + n % 1000, 100, 0, 50 + n % 100, 10, 0, '{"input":500,"output":50}', 1000 + n % 5000, 1, false
     from generate_series(1, $3::int) n`,
    [lastDay, days, rows, users],
  );
  await client.query(
    `insert into usage_daily (
       user_id, day, key_id, group_id, model, account_id, operation, requests, input_tokens, cached_input_tokens,
       cache_write_tokens, output_tokens, reasoning_tokens, audio_tokens, image_tokens, searches, images, nanos, estimated, cost_unknown)
     select user_id, (at at time zone 'UTC')::date as day, key_id, group_id, model, account_id, operation, count(*), sum(input_tokens),
       sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), 0, 0, 0, sum(images), sum(nanos), 0, count(*)
     from usage_records group by 1, 2, 3, 4, 5, 6, 7 order by day, user_id`,
  );
  await client.query(
    `with spent as (select user_id, sum(nanos)::bigint as nanos from usage_daily group by user_id),
       booked as (
         insert into entries (debit, credit, nanos, kind, reference, reason)
         select '@funding', user_id, nanos, 'credit', 'open:' || user_id, 'opening balance' from spent union all
         select user_id, '@revenue', nanos, 'usage', 'usage:' || user_id, 'all calls' from spent)
     update wallets w set credits = s.nanos, debits = s.nanos from spent s where s.user_id = w.user_id`,
  );
  await client.query('vacuum (analyze) usage_records, usage_daily, entries, wallets');
}
