-- The request log: one row for every call with a known key, failed and refused ones too. Not money: a crash may lose its last second.
-- Partitioned by day, because whole days are dropped; the days live in a schema of their own and are created by request_day().
-- Times are milliseconds. Nothing of a request or a response is kept but names and numbers.
create table requests (
  at timestamptz not null,
  id text not null,
  user_id text not null,
  key_id text not null,
  group_id text not null,
  operation text not null,
  -- As the caller named it; null when the call ended before it was known.
  model text,
  upstream_model text,
  client text,
  target text,
  stream boolean,
  status smallint not null,
  outcome text not null,
  code text,
  -- On whose side the failure was: provider, ours, caller. Null for a call that did not fail.
  error text,
  -- Of the last attempt.
  account_id text,
  attempts jsonb,
  dropped text[],
  changed text[],
  -- From the start of the call.
  first_byte_ms real,
  total_ms real not null,
  -- The time that is neither the client's upload, nor the provider's, nor that of failed attempts. Null without an attempt.
  added_ms real,
  -- Of failed attempts that another attempt followed.
  failover_ms real,
  usage jsonb,
  nanos bigint,
  cost_nanos bigint,
  price_id bigint,
  group_ppm bigint,
  user_ppm bigint,
  estimated boolean,
  session bigint,
  primary key (at, id)
) partition by range (at);
create index requests_of_id on requests using hash (id);
create index requests_of_user on requests (user_id, at);
create index requests_of_key on requests (key_id, at);
create index requests_of_group on requests (group_id, at);
create index requests_of_model on requests (model, at);
create index requests_of_account on requests (account_id, at) where account_id is not null;
create index requests_of_operation on requests (operation, at);
-- Nearly all calls end with 200, and those are found by time.
create index requests_of_status on requests (status, at) where status <> 200;
create index requests_of_error on requests (error, at) where error is not null;

-- Failed attempts, also those that another attempt made good: by account, with the provider's own words.
create table request_faults (
  at timestamptz not null,
  request_id text not null,
  attempt smallint not null,
  group_id text not null,
  account_id text not null,
  model text,
  kind text not null,
  status smallint,
  words text,
  primary key (at, request_id, attempt)
) partition by range (at);
create index request_faults_of_account on request_faults (account_id, at);

create schema request_days;

-- Attaching takes a weaker lock than creating in place: a day can be added while calls are written.
create function request_day(day date) returns void language plpgsql as $$
declare
  parent text;
  name text;
begin
  foreach parent in array array['requests', 'request_faults'] loop
    name := parent || '_' || to_char(day, 'YYYY_MM_DD');
    continue when exists (select from pg_tables where schemaname = 'request_days' and tablename = name);
    perform pg_advisory_xact_lock(hashtext('request_day'));
    continue when exists (select from pg_tables where schemaname = 'request_days' and tablename = name);
    execute format('create table request_days.%I (like %I including defaults including constraints including indexes)', name, parent);
    execute format('alter table %I attach partition request_days.%I for values from (%L) to (%L)', parent, name,
      day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
  end loop;
end $$;

-- Hours in which calls were written since their roll-up was built.
create table request_hours_due (
  hour timestamptz primary key
);

-- Roll-ups of the request log for charts, built again as a whole when a call of the hour was written. The account is that of the last
-- attempt; an empty text stands for none. Histograms count calls by the logarithm of their time, so that they can be added.
-- Each level has all calls of the hour, so that most charts read few rows: `all` by group, account and model; `group`, `account` and
-- `model` by this name alone; `total` in one row. The other names are empty.
create table request_hours (
  level text not null check (level in ('all', 'group', 'account', 'model', 'total')),
  hour timestamptz not null,
  group_id text not null,
  account_id text not null,
  model text not null,
  requests bigint not null,
  provider_errors bigint not null,
  own_errors bigint not null,
  caller_errors bigint not null,
  client_closed bigint not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  output_tokens bigint not null,
  nanos bigint not null,
  cost_nanos bigint not null,
  -- Charged calls whose cost is unknown.
  cost_unknown bigint not null,
  first_byte int[] not null,
  total int[] not null,
  added int[] not null,
  failover int[] not null,
  primary key (level, hour, group_id, account_id, model)
);
create table request_fault_hours (
  hour timestamptz not null,
  group_id text not null,
  account_id text not null,
  model text not null,
  kind text not null,
  attempts bigint not null,
  primary key (hour, group_id, account_id, model, kind)
);

-- How often each number from 0 to `highest` occurs.
create function histogram_of(buckets int[], highest int) returns int[] language sql immutable as $$
  select array_agg(coalesce(found.n, 0)::int order by i)
  from generate_series(0, highest) i
  left join (select bucket, count(*) as n from unnest(buckets) bucket group by bucket) found on found.bucket = i
$$;
