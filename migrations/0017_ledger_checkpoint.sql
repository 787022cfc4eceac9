-- How far the entries have been verified, so that a check of the ledger reads only what is new. The tables below are derived from the
-- entries: dropping their rows makes the check start again from the first entry.

create table ledger_checkpoint (
  -- Every entry up to this one is in a segment.
  entry_id bigint not null default 0,
  -- The newest entry at the last check, and the first transaction that began after it. Once all earlier transactions have ended, no
  -- entry up to this one can appear any more.
  next_entry_id bigint not null default 0,
  next_transaction bigint not null default 0,
  marked_at timestamptz not null default now(),
  -- Holds that were resolved before this time have been checked.
  holds_until timestamptz not null default '2000-01-01',
  checked_at timestamptz not null default now(),
  is_single boolean primary key default true check (is_single)
);
insert into ledger_checkpoint default values;

-- Consecutive entries that were verified together. Segments are verified again in turn, which finds changes of old entries.
create table ledger_segments (
  last_id bigint primary key,
  -- The id after the last one of the segment before, whether or not it exists.
  first_id bigint not null,
  entries bigint not null,
  nanos bigint not null,
  -- XOR of a hash of each entry.
  digest bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  is_faulty boolean not null default false,
  verified_at timestamptz not null default now()
);
create index ledger_segments_by_age on ledger_segments (verified_at);

-- The sums of each account's entries up to the checkpoint. `beyond`: charged above what was set aside.
create table ledger_sums (
  account text primary key,
  credits bigint not null,
  debits bigint not null,
  beyond bigint not null
);

-- The balance of an account after the last entry of each segment in which it has entries.
create table ledger_balances (
  account text not null,
  last_id bigint not null,
  nanos bigint not null,
  primary key (account, last_id)
);

-- Holds that did not agree with their entries at the last check.
create table ledger_suspects (
  hold_id bigint primary key references holds on delete cascade
);

create index holds_resolved on holds (resolved_at) where resolved_at is not null;

-- Another replica needs this money for a call that it would have to reject; the owner returns what it does not use.
alter table leases add column is_wanted boolean not null default false;
create index leases_wanted on leases (replica_id) where is_wanted;
