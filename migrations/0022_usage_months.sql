-- The daily sums of whole months, for reports over long periods by user or key. The worker adds months that are over.
create table usage_monthly (
  user_id text not null,
  month date not null,
  key_id text not null,
  group_id text not null,
  model text not null,
  account_id text not null,
  operation text not null,
  requests bigint not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  audio_tokens bigint not null,
  image_tokens bigint not null,
  searches bigint not null,
  images bigint not null,
  nanos bigint not null,
  estimated bigint not null,
  cost_nanos bigint not null,
  cost_unknown bigint not null,
  primary key (user_id, month, key_id, group_id, model, account_id, operation)
);
create index usage_monthly_by_month on usage_monthly (month);
create index usage_monthly_of_key on usage_monthly (key_id, month);

-- A record that arrives for one of these months removes its row, and the month is summed again.
create table usage_monthly_months (
  month date primary key,
  -- Reports read the sums of months that are complete; the others are being summed.
  is_complete boolean not null
);

-- Months share the numbers of the advisory locks of days, in a space of their own.
create or replace function reopen_usage_days(days date[]) returns void language plpgsql as $$
declare
  one date;
  first date;
begin
  foreach one in array days loop
    -- The current day is never in usage_totals, and the current month never in usage_monthly.
    continue when one >= (now() at time zone 'UTC')::date;
    perform pg_advisory_xact_lock_shared(1970366837, one - date '1970-01-01');
    delete from usage_totals_days where day = one;
    first := date_trunc('month', one::timestamp)::date;
    continue when first >= date_trunc('month', now() at time zone 'UTC')::date;
    perform pg_advisory_xact_lock_shared(1970366838, first - date '1970-01-01');
    delete from usage_monthly_months where month = first;
  end loop;
end $$;

-- Summing a month can take long, and records must not wait for it. So it has two steps, each its own transaction. The first one
-- marks the month, once no records of it are on their way. From then on, a record removes the mark.
create function begin_usage_month(first date) returns boolean language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock(1970366838, first - date '1970-01-01') then return false; end if;
  insert into usage_monthly_months values (first, false) on conflict (month) do update set is_complete = false;
  return true;
end $$;

-- The second step. Returns false when a record removed the mark; the sums are incomplete then, and no report reads them. One
-- connection at a time may do both steps for a month.
create function sum_usage_month(first date) returns boolean language plpgsql as $$
begin
  delete from usage_monthly where month = first;
  insert into usage_monthly
    select user_id, first, key_id, group_id, model, account_id, operation, sum(requests), sum(input_tokens),
      sum(cached_input_tokens), sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), sum(audio_tokens),
      sum(image_tokens), sum(searches), sum(images), sum(nanos), sum(estimated), sum(cost_nanos), sum(cost_unknown)
    from usage_daily where day >= first and day < (first + interval '1 month')::date
    group by user_id, key_id, group_id, model, account_id, operation;
  update usage_monthly_months set is_complete = true where month = first;
  return found;
end $$;

-- The sum of PostgreSQL is numeric, which takes longer to compute and to convert. Zero without rows; fails when it exceeds a bigint.
create aggregate bigint_sum(bigint) (sfunc = int8pl, stype = bigint, initcond = '0', combinefunc = int8pl, parallel = safe);
