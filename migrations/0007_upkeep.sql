-- Old months of usage go; what needs an operator is written down until it is over.

-- What each process has not brought to the database yet, as of its last sign of life.
alter table replicas add column pending bigint not null default 0, add column pending_since timestamptz;

-- Single records before this day have been removed. A record of such a month that turns up after all may have been charged before:
-- it cannot be told any more, so no month is made for it again and it is set aside.
create table usage_kept (
  since date not null,
  is_single boolean primary key default true check (is_single)
);
insert into usage_kept (since) values ('2000-01-01');

create or replace function usage_month(day date) returns void language plpgsql as $$
declare
  first date := date_trunc('month', day)::date;
  name text := 'usage_' || to_char(first, 'YYYY_MM');
begin
  if exists (select from pg_tables where schemaname = 'usage_months' and tablename = name) then return; end if;
  if first < (select since from usage_kept) then
    raise exception 'the month % has been removed', to_char(first, 'YYYY-MM') using errcode = 'check_violation';
  end if;
  perform pg_advisory_xact_lock(hashtext('usage_month'));
  -- Looked up in the table again: what a session remembers of the catalog may be from before the wait.
  if exists (select from pg_tables where schemaname = 'usage_months' and tablename = name) then return; end if;
  execute format('create table usage_months.%I (like usage_records including defaults including constraints including indexes)', name);
  execute format('alter table usage_records attach partition usage_months.%I for values from (%L) to (%L)', name,
    first::timestamp at time zone 'UTC', (first + interval '1 month')::timestamp at time zone 'UTC');
end $$;

-- What needs an operator, as the worker saw it last. A row for each kind, also while all is well: a look that is long ago shows too.
create table alarms (
  name text primary key,
  count bigint not null,
  detail text not null,
  -- Null while there is nothing.
  since timestamptz,
  looked_at timestamptz not null
);
create index entries_beyond on entries (created_at) where kind in ('excess', 'overdraft');
