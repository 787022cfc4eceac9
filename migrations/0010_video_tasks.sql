-- Video tasks (document 2) and idempotent creates. Every unique key contains the user, so that the tables can be distributed by it.

-- A task never holds its prompt or media: they are sent once and not kept.
create table video_tasks (
  user_id text not null references users on delete cascade,
  id text not null,
  key_id text not null,
  -- The service group and its variant at creation. No reference: a task outlives its group.
  group_id text not null,
  variant text not null check (variant in ('A', 'EP', 'HC')),
  model text not null,
  upstream_model text not null,
  status text not null default 'queued' check (status in ('queued', 'running', 'cancelled', 'succeeded', 'failed', 'expired')),
  progress smallint not null default 0 check (progress between 0 and 100),
  -- 1 at creation, one more with every change of status.
  version integer not null default 1 check (version > 0),
  -- pending: nothing was sent. sending: the request may be on its way. confirmed: the provider returned an id.
  -- unknown: the request was sent and its outcome is not known; it is never sent again.
  submission text not null default 'pending' check (submission in ('pending', 'sending', 'confirmed', 'unknown')),
  -- The replica that is submitting, and until when others must not touch the task.
  submitter text,
  submitter_until timestamptz,
  account_id text,
  upstream_id text,
  -- SHA-256 of the secret path at which the provider reports this task, and the end-user hash that it echoes.
  callback_token_hash bytea not null,
  safety_identifier text not null,
  -- Parameters as requested, and as the provider reported them.
  parameters jsonb not null,
  reported jsonb,
  -- Only variant A has tiers; a task without one was created with the default (V 4.4).
  service_tier text generated always as (case when variant = 'A' then coalesce(parameters ->> 'service_tier', 'default') end) stored,
  has_video_input boolean not null,
  usage_tokens bigint check (usage_tokens >= 0),
  error jsonb,
  callback_url text,
  callback_secret_sealed text not null,
  -- A cancellation that the provider has not confirmed yet.
  cancel_requested_at timestamptz,
  expires_at timestamptz not null,
  -- When the worker looks at the task next; null once nothing is left to do.
  next_check_at timestamptz,
  check_attempts integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  finished_at timestamptz,
  deleted_at timestamptz,
  primary key (user_id, id),
  check ((status in ('queued', 'running')) = (finished_at is null)),
  check (submission <> 'confirmed' or upstream_id is not null)
);
-- Lists filter, skip and count in the index alone: the tasks of a user lie far apart in the table.
create index video_tasks_of_user on video_tasks (user_id, created_at desc, id desc)
  include (variant, status, model, service_tier) where deleted_at is null;
create index video_tasks_unknown on video_tasks (next_check_at) where submission = 'unknown' and finished_at is null;
create index video_tasks_submitting on video_tasks (submitter_until) where submission in ('pending', 'sending');
create index video_tasks_callback on video_tasks (callback_token_hash) where finished_at is null;
create index video_tasks_upstream on video_tasks (account_id, upstream_id) where upstream_id is not null;

-- One row per Idempotency-Key of a user and operation (V 8).
create table idempotency_records (
  user_id text not null references users on delete cascade,
  operation text not null,
  -- SHA-256 of the key's bytes.
  key_hash bytea not null,
  -- SHA-256 of the canonical request.
  fingerprint bytea not null,
  -- While the operation runs: who runs it, and until when nobody else may take it over.
  owner text not null,
  owner_until timestamptz not null,
  -- The resource, once it exists; with `finished_at` the response is a success.
  resource_id text,
  http_status smallint,
  -- A stable error; null for a success.
  error jsonb,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  expires_at timestamptz not null,
  primary key (user_id, operation, key_hash),
  check ((finished_at is null) = (http_status is null)),
  check (error is null or finished_at is not null)
);
create index idempotency_records_expiry on idempotency_records (expires_at);
create index idempotency_records_of_resource on idempotency_records (user_id, resource_id) where resource_id is not null;
