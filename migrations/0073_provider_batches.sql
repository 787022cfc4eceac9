-- Batches at providers that have a discount for them. One holds requests of one batch of a user, for one model, on one account.
create table provider_batches (
  user_id text not null references users on delete cascade,
  -- Of the hold, which covers all of its requests.
  reference text not null,
  batch_id text not null,
  key_id text not null,
  group_id text not null,
  account_id text not null,
  operation text not null,
  model text not null,
  price_id bigint,
  -- Whether its responses are recorded, so that later requests may name them.
  stores boolean not null,
  requests int not null,
  -- `held`: nothing can run at the provider yet. `submitting`: it may. `ended`: it is paid, and what the provider keeps of it is deleted.
  state text not null default 'held' check (state in ('held', 'submitting', 'running', 'ended')),
  -- The file of the requests, and the batch, at the provider. Not bound for certain: found by its size and time after a crash.
  input_file text,
  upstream_id text,
  is_certain boolean not null default true,
  -- Charges of the results so far.
  nanos bigint not null default 0,
  misses int not null default 0,
  -- The end of the lease of the process that sends it; then when it is looked at next.
  next_check_at timestamptz not null,
  created_at timestamptz not null default now(),
  submitted_at timestamptz,
  cancelled_at timestamptz,
  primary key (user_id, reference)
);
create index provider_batches_due on provider_batches (next_check_at);
create trigger provider_batches_have_owner before insert on provider_batches for each row execute function refuse_erased();

-- Its requests without a result. They outlive the batch of the user: one that is deleted is paid all the same.
create table provider_batch_lines (
  user_id text not null,
  reference text not null,
  n int not null,
  input_tokens bigint not null,
  max_nanos bigint not null,
  primary key (user_id, reference, n),
  foreign key (user_id, reference) references provider_batches (user_id, reference) on delete cascade
);

-- Requests wait until then for being prepared for a provider; null when they do not, or no longer.
alter table batches add column placing_until timestamptz;
create index batches_placing on batches (placing_until) where placing_until is not null;
create trigger batches_placed after insert on batches for each statement execute function announce_work('provider_batches');

alter table batch_lines
  drop constraint batch_lines_state_check,
  add constraint batch_lines_state_check
    check (state in ('waiting', 'sent', 'provider', 'succeeded', 'errored', 'canceled', 'expired'));

-- An erasure waits for batches at providers too.
create or replace function erasure_waits(erased text, out tasks int, out holds int, out authorizations int, out assets int, out asset_groups int,
  out responses int) language sql stable as $$
  select
    (select count(*) from (select from video_tasks where user_id = erased and finished_at is null limit 100000) n),
    (select count(*) from (select from holds where user_id = erased and state in ('held', 'review') limit 100000) n),
    (select count(*) from (select from authorization_sessions where user_id = erased and status in ('pending', 'verifying')
      and expires_at > now() limit 100000) n),
    (select count(*) from (select from assets where user_id = erased limit 100000) n),
    (select count(*) from (select from asset_groups where user_id = erased limit 100000) n),
    (select count(*) from (select from stored_responses where user_id = erased and account_id is not null and sealed is null
      union all select from provider_objects where user_id = erased
      union all select from provider_batches where user_id = erased limit 100000) n)
$$;
