-- Health of accounts, shared by all replicas: one row per cooldown, parks that last until an operator acts, and requests in flight.

drop table account_cooldowns;
create table account_cooldowns (
  account_id text not null references accounts on delete cascade,
  -- Empty for a cooldown of the whole account.
  operation text not null,
  model text not null,
  -- The replica that set the end.
  replica_id text not null,
  -- Fingerprint of address, credential and proxy: the row says nothing about an account that changed since.
  identity text,
  -- A kind of fault.
  reason text not null,
  -- The provider's own code and message of the last fault that set the end, without secrets.
  provider_code text,
  message text,
  faults integer not null,
  -- Ejections by the circuit that followed one another; 0 for a pause that the provider asked for.
  ejections integer not null,
  -- The account stays in use, because too many others of its group are ejected.
  in_use boolean not null,
  since timestamptz not null,
  until timestamptz not null,
  primary key (account_id, operation, model)
);
create index account_cooldowns_until on account_cooldowns (until);

create table account_parks (
  account_id text primary key references accounts on delete cascade,
  state text not null check (state in ('parked', 'draining')),
  -- `credential`: the provider rejects it. `operator`: parked or drained by hand.
  cause text not null check (cause in ('credential', 'operator')),
  identity text,
  provider_code text,
  message text,
  -- Null when an operator did it.
  replica_id text,
  -- The operator's reason.
  reason text,
  since timestamptz not null default now()
);

create table account_loads (
  replica_id text primary key,
  -- Requests in flight by account; accounts without any are left out.
  in_flight jsonb not null,
  at timestamptz not null
);

insert into revisions (name) values ('pool');
create trigger account_parks_changed after insert or update or delete on account_parks for each statement execute function move_revision('pool');
