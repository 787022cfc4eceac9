-- runs with: 0.2.0
-- What an attempt has cost the operator that served no call: the kind of its failure. Its charge is zero. Null: the record of a call.
alter table usage_records add column fault text;

-- The part of cost_nanos that is of such attempts. They count in no other sum.
alter table usage_daily add column failed_cost_nanos bigint not null default 0;
alter table usage_totals add column failed_cost_nanos bigint not null default 0;
alter table usage_monthly add column failed_cost_nanos bigint not null default 0;

create or replace function sum_usage_day(one date) returns boolean language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock(1970366837, one - date '1970-01-01') then return false; end if;
  delete from usage_totals where day = one;
  insert into usage_totals (day, group_id, model, account_id, operation, requests, input_tokens, cached_input_tokens,
      cache_write_tokens, output_tokens, reasoning_tokens, audio_tokens, image_tokens, searches, images, nanos, estimated, cost_nanos,
      cost_unknown, failed_cost_nanos)
    select day, group_id, model, account_id, operation, sum(requests), sum(input_tokens), sum(cached_input_tokens),
      sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), sum(audio_tokens), sum(image_tokens), sum(searches),
      sum(images), sum(nanos), sum(estimated), sum(cost_nanos), sum(cost_unknown), sum(failed_cost_nanos)
    from usage_daily where day = one group by day, group_id, model, account_id, operation;
  insert into usage_totals_days values (one) on conflict do nothing;
  return true;
end $$;

create or replace function sum_usage_month(first date) returns boolean language plpgsql as $$
begin
  delete from usage_monthly where month = first;
  insert into usage_monthly (user_id, month, key_id, group_id, model, account_id, operation, requests, input_tokens,
      cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, audio_tokens, image_tokens, searches, images, nanos,
      estimated, cost_nanos, cost_unknown, failed_cost_nanos)
    select user_id, first, key_id, group_id, model, account_id, operation, sum(requests), sum(input_tokens),
      sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), sum(audio_tokens),
      sum(image_tokens), sum(searches), sum(images), sum(nanos), sum(estimated), sum(cost_nanos), sum(cost_unknown),
      sum(failed_cost_nanos)
    from usage_daily where day >= first and day < (first + interval '1 month')::date
    group by user_id, key_id, group_id, model, account_id, operation;
  update usage_monthly_months set is_complete = true where month = first;
  return found;
end $$;
