-- Batches of requests that servers send in the background. Requests are parts of a kept file; results become one when all have ended.
create table batches (
  user_id text not null references users on delete cascade,
  id text not null,
  -- Its requests are calls of this key, from this address.
  key_id text not null,
  address text not null,
  operation text not null,
  input_file text not null,
  metadata jsonb not null default '{}',
  -- The header `anthropic-beta` of its requests.
  beta text,
  state text not null default 'running' check (state in ('running', 'ended', 'failed')),
  -- Why it failed: what is wrong with lines of the file.
  errors jsonb not null default '[]',
  total int not null,
  succeeded int not null default 0,
  errored int not null default 0,
  canceled int not null default 0,
  expired int not null default 0,
  -- Of the results so far.
  result_bytes bigint not null default 0,
  output_file text,
  error_file text,
  -- No request is sent before: a limit or a provider asked to wait.
  ready_at timestamptz not null default now(),
  -- When a request was last taken, so that batches take turns.
  taken_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  cancelled_at timestamptz,
  ended_at timestamptz,
  kept_until timestamptz not null,
  primary key (user_id, id)
);
create index batches_newest on batches (user_id, created_at desc, id desc);
create index batches_running on batches (user_id) where state = 'running';
create index batches_kept on batches (kept_until);
create trigger batches_have_owner before insert on batches for each row execute function refuse_erased();
create trigger batches_created after insert on batches for each statement execute function announce_work('batches');

-- The requests of running batches.
create table batch_lines (
  user_id text not null,
  batch_id text not null,
  n int not null,
  custom_id text not null,
  -- Where its body is in the file.
  start bigint not null,
  bytes int not null,
  state text not null default 'waiting' check (state in ('waiting', 'sent', 'succeeded', 'errored', 'canceled', 'expired')),
  -- How often it was taken; who records its result must have taken it last.
  attempts int not null default 0,
  -- Of a request that was sent: a process that has ended does not renew it.
  lease_until timestamptz,
  status int,
  request_id text,
  -- The reply.
  sealed bytea,
  primary key (user_id, batch_id, n),
  foreign key (user_id, batch_id) references batches (user_id, id) on delete cascade
);
create index batch_lines_waiting on batch_lines (user_id, batch_id, n) where state = 'waiting';
create index batch_lines_sent on batch_lines (user_id, lease_until) where state = 'sent';
alter table batch_lines alter column sealed set storage external;

create or replace function erase_files() returns trigger language plpgsql as $$
begin
  delete from files where user_id = new.id;
  delete from batches where user_id = new.id;
  return null;
end $$;
