-- Money and usage. Amounts are nano-dollars. Every movement is an entry between two accounts, one of them a user's wallet; entries are
-- never changed. A wallet's counters are sums of its entries, holds and leases, kept beside them so that admission reads one row;
-- ledger_faults() below re-derives them all.

-- One for every user, from the moment the user exists. available = credits - debits - held; charges above a hold may take it below zero.
create table wallets (
  user_id text primary key references users,
  credits bigint not null default 0 check (credits >= 0),
  debits bigint not null default 0 check (debits >= 0),
  held bigint not null default 0 check (held >= 0),
  created_at timestamptz not null default now()
);

create function give_wallet() returns trigger language plpgsql as $$
begin
  insert into wallets (user_id) values (new.id);
  return null;
end $$;
create trigger users_have_wallets after insert on users for each row execute function give_wallet();
insert into wallets (user_id) select id from users;

-- Money set aside for one piece of work; settled or released once. `review`: done, but what it cost is not known yet.
create table holds (
  id bigint generated always as identity primary key,
  user_id text not null references wallets,
  reference text not null unique,
  nanos bigint not null check (nanos between 0 and 1000000000000000),
  state text not null default 'held' check (state in ('held', 'review', 'settled', 'released')),
  settled_nanos bigint check (settled_nanos >= 0),
  check_after timestamptz not null,
  created_at timestamptz not null default now(),
  resolved_at timestamptz,
  check ((state in ('settled', 'released')) = (resolved_at is not null)),
  check ((state = 'settled') = (settled_nanos is not null))
);
create index holds_open on holds (user_id) where state in ('held', 'review');

-- From the `debit` side to the `credit` side. The other side of a wallet is an account of the house; those have no row and no counter,
-- so that no row is touched by everybody's charges: their balance is the sum of their entries.
create table entries (
  id bigint generated always as identity primary key,
  debit text not null,
  credit text not null,
  nanos bigint not null check (nanos > 0),
  -- usage: within a lease; overdraft: beyond it. settle: within a hold; excess: beyond it. charge: without either.
  kind text not null check (kind in ('credit', 'charge', 'settle', 'excess', 'usage', 'overdraft')),
  reference text not null unique,
  hold_id bigint references holds,
  price_id bigint,
  reason text not null,
  created_at timestamptz not null default now(),
  check (
    case when kind = 'credit'
      then debit in ('@funding', '@revenue', '@adjustment') and credit not like '@%'
      else credit in ('@revenue', '@adjustment') and debit not like '@%'
    end
  )
);
create index entries_of_debit on entries (debit, id desc);
create index entries_of_credit on entries (credit, id desc);
create index entries_of_hold on entries (hold_id) where hold_id is not null;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'entries are append-only' using errcode = 'restrict_violation';
end $$;
create trigger entries_stay before update or delete on entries for each row execute function refuse_change();
create trigger entries_stay_all before truncate on entries for each statement execute function refuse_change();

-- Opening credits that were booked before there was a ledger.
insert into entries (debit, credit, nanos, kind, reference, reason, created_at)
  select '@funding', user_id, nanos, 'credit', reference, reason, created_at from credits where nanos > 0 order by created_at, reference;
update wallets w set credits = c.nanos
  from (select credit, sum(nanos)::bigint as nanos from entries group by credit) c where c.credit = w.user_id;
drop table credits;

-- Which ledger this is. A journal on disk names it, so that it is never read into another database.
create table ledger_identity (
  id uuid primary key default gen_random_uuid()
);
insert into ledger_identity default values;

-- Processes that admit calls. `seen_at` is their sign of life; a row stays until its journal has been read. Fenced: taken for dead by
-- another process; if it lives after all it must begin again under a new id.
create table replicas (
  id text primary key,
  host text not null,
  fenced boolean not null default false,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

-- What a replica may spend of a wallet without asking; part of the wallet's `held`. The version orders the answers to its owner.
create table leases (
  user_id text not null references wallets,
  replica_id text not null references replicas,
  nanos bigint not null check (nanos >= 0),
  version bigint not null default 1,
  primary key (user_id, replica_id)
);
create index leases_of_replica on leases (replica_id);

-- One row per metered call. Partitioned by month so that old months can be dropped whole; the months live in a schema of their own and
-- are made by usage_month(). `usage` is what the upstream reported; absent there means not reported.
create table usage_records (
  id text not null,
  at timestamptz not null,
  user_id text not null,
  key_id text not null,
  group_id text not null,
  account_id text not null,
  model text not null,
  operation text not null,
  request_id text not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  images integer not null,
  usage jsonb not null,
  nanos bigint not null check (nanos >= 0),
  price_id bigint,
  estimated boolean not null,
  primary key (at, id)
) partition by range (at);
create index usage_records_of_user on usage_records (user_id, at desc);

create schema usage_months;

-- Attaching takes a weaker lock than creating in place: a month can be added while calls are being recorded.
create function usage_month(day date) returns void language plpgsql as $$
declare
  first date := date_trunc('month', day)::date;
  name text := 'usage_' || to_char(first, 'YYYY_MM');
begin
  if exists (select from pg_tables where schemaname = 'usage_months' and tablename = name) then return; end if;
  perform pg_advisory_xact_lock(hashtext('usage_month'));
  -- Looked up in the table again: what a session remembers of the catalog may be from before the wait.
  if exists (select from pg_tables where schemaname = 'usage_months' and tablename = name) then return; end if;
  execute format('create table usage_months.%I (like usage_records including defaults including constraints including indexes)', name);
  execute format('alter table usage_records attach partition usage_months.%I for values from (%L) to (%L)', name,
    first::timestamp at time zone 'UTC', (first + interval '1 month')::timestamp at time zone 'UTC');
end $$;

-- Records that no honest upstream reports, or that cannot be stored: kept for an operator, never charged.
create table usage_quarantine (
  id text primary key,
  fault text not null,
  raw text not null,
  created_at timestamptz not null default now()
);

-- The only table that usage pages read. Days are UTC.
create table usage_daily (
  user_id text not null,
  day date not null,
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
  primary key (user_id, day, key_id, group_id, model, account_id, operation)
);
create index usage_daily_by_day on usage_daily (day);

-- Everything that must hold, one row for each time that it does not.
create function ledger_faults() returns table (fault text, subject text, expected numeric, found numeric) language sql stable as $$
  with
    debited as (select debit as user_id, sum(nanos) as nanos, sum(nanos) filter (where kind in ('excess', 'overdraft', 'charge')) as beyond
      from entries where kind <> 'credit' group by debit),
    credited as (select credit as user_id, sum(nanos) as nanos from entries where kind = 'credit' group by credit),
    open_holds as (select user_id, sum(nanos) as nanos from holds where state in ('held', 'review') group by user_id),
    leased as (select user_id, sum(nanos) as nanos from leases group by user_id),
    posted as (select hold_id, sum(nanos) as nanos, count(*) filter (where kind = 'settle') as settles from entries where hold_id is not null group by hold_id),
    house as (select sum(case when kind = 'credit' then -nanos else nanos end) as nanos from entries)
  select 'wallet.credits is not the sum of its entries', w.user_id, coalesce(c.nanos, 0), w.credits
    from wallets w left join credited c using (user_id) where w.credits <> coalesce(c.nanos, 0)
  union all
  select 'wallet.debits is not the sum of its entries', w.user_id, coalesce(d.nanos, 0), w.debits
    from wallets w left join debited d using (user_id) where w.debits <> coalesce(d.nanos, 0)
  union all
  select 'wallet.held is not the sum of its holds and leases', w.user_id, coalesce(h.nanos, 0) + coalesce(l.nanos, 0), w.held
    from wallets w left join open_holds h using (user_id) left join leased l using (user_id)
    where w.held <> coalesce(h.nanos, 0) + coalesce(l.nanos, 0)
  union all
  select 'a wallet was overspent beyond what was recorded as such', w.user_id, -coalesce(d.beyond, 0), w.credits - w.debits - w.held
    from wallets w left join debited d using (user_id) where w.credits - w.debits - w.held < -coalesce(d.beyond, 0)
  union all
  select 'entries of nobody''s wallet', e.user_id, 0, e.nanos
    from (select * from credited union all select user_id, nanos from debited) e left join wallets w using (user_id) where w.user_id is null
  union all
  select 'a settled hold was not charged what it says', h.reference, h.settled_nanos, coalesce(p.nanos, 0)
    from holds h left join posted p on p.hold_id = h.id
    where h.state = 'settled' and (h.settled_nanos <> coalesce(p.nanos, 0) or coalesce(p.settles, 0) > 1)
  union all
  select 'a hold that was not settled was charged', h.reference, 0, p.nanos
    from holds h join posted p on p.hold_id = h.id where h.state <> 'settled'
  union all
  select 'a hold is overdue', h.reference, 0, h.nanos from holds h where h.state = 'held' and h.check_after < now() - interval '1 hour'
  union all
  select 'wallets and house do not sum to zero', '', 0, t.nanos
    from (select coalesce((select sum(credits - debits) from wallets), 0) + coalesce((select nanos from house), 0) as nanos) t where t.nanos <> 0
$$;
