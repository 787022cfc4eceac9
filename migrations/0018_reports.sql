-- A rotated key counts as spent what the keys before it have spent: the id of the first of them. Null: the key replaces no other.
alter table keys add column spend_id text;

-- Single records by what operators search for.
create index usage_records_of_model on usage_records (model, at desc);
create index usage_records_of_key on usage_records (key_id, at desc);

-- The daily sums without users and keys, for reports over all users. Days are added when they are over; a record that arrives for such
-- a day removes it from usage_totals_days, and the day is summed again.
create table usage_totals (
  day date not null,
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
  primary key (day, group_id, model, account_id, operation)
);
create table usage_totals_days (
  day date primary key
);
create index usage_daily_of_key on usage_daily (key_id, day);

-- To be called before records of these days are added, in the same transaction. The shared lock keeps the summing of a day apart from
-- records that are on their way.
create function reopen_usage_days(days date[]) returns void language plpgsql as $$
declare
  one date;
begin
  foreach one in array days loop
    -- The current day is never in usage_totals.
    continue when one >= (now() at time zone 'UTC')::date;
    perform pg_advisory_xact_lock_shared(1970366837, one - date '1970-01-01');
    delete from usage_totals_days where day = one;
  end loop;
end $$;

-- Sums one day. Returns false when records of the day are on their way.
create function sum_usage_day(one date) returns boolean language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock(1970366837, one - date '1970-01-01') then return false; end if;
  delete from usage_totals where day = one;
  insert into usage_totals
    select day, group_id, model, account_id, operation, sum(requests), sum(input_tokens), sum(cached_input_tokens),
      sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), sum(audio_tokens), sum(image_tokens), sum(searches),
      sum(images), sum(nanos), sum(estimated), sum(cost_nanos), sum(cost_unknown)
    from usage_daily where day = one group by day, group_id, model, account_id, operation;
  insert into usage_totals_days values (one) on conflict do nothing;
  return true;
end $$;
