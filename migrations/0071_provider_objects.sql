-- Objects that a provider keeps for callers, such as cached contents. A request that names one goes to the account that holds it.
create table provider_objects (
  user_id text not null references users on delete cascade,
  kind text not null,
  -- At the provider.
  id text not null,
  account_id text not null,
  key_id text,
  -- As the caller named it.
  model text not null,
  tokens bigint not null,
  -- What the provider says of it, which has nothing of its content.
  shown jsonb not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (user_id, kind, id)
);
create index provider_objects_newest on provider_objects (user_id, created_at desc, id desc);
create index provider_objects_expiry on provider_objects (expires_at);
create trigger provider_objects_have_owner before insert on provider_objects for each row execute function refuse_erased();

-- They are counted, and waited for, with the responses that providers hold.
create or replace function erasure_counts(erased text, out keys int, out people int, out warnings int, out destinations int, out tasks int,
  out assets int, out asset_groups int, out authorizations int, out responses int, out captures int, out callbacks int, out calls int, out files int,
  out batches int, out conversations int)
language sql stable as $$
  select
    (select count(*) from (select from keys where user_id = erased limit 100000) n),
    (select count(*) from (select from people where user_id = erased and role = 'user' limit 100000) n),
    (select count(*) from (select from warning_rules where user_id = erased limit 100000) n),
    (select count(*) from (select from warning_destinations where user_id = erased limit 100000) n),
    (select count(*) from (select from video_tasks where user_id = erased limit 100000) n),
    (select count(*) from (select from assets where user_id = erased limit 100000) n),
    (select count(*) from (select from asset_groups where user_id = erased limit 100000) n),
    (select count(*) from (select from authorization_sessions where user_id = erased limit 100000) n),
    (select count(*) from (select from stored_responses where user_id = erased
      union all select from provider_objects where user_id = erased limit 100000) n),
    (select count(*) from (select from captures where user_id = erased limit 100000) n),
    (select count(*) from (select from callback_events where user_id = erased limit 100000) n),
    (select count(*) from (select from requests where user_id = erased limit 100000) n),
    (select count(*) from (select from files where user_id = erased limit 100000) n),
    (select count(*) from (select from batches where user_id = erased limit 100000) n),
    (select count(*) from (select from conversations where user_id = erased limit 100000) n)
$$;

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
      union all select from provider_objects where user_id = erased limit 100000) n)
$$;
