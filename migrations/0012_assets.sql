-- Private assets, asset groups, real-person authorization (document 2). Only addresses and states are kept, never the media.

-- The upstream account of a user in a service group: assets can be combined only within one account, so it never changes.
create table asset_accounts (
  user_id text not null references users on delete cascade,
  group_id text not null,
  account_id text not null,
  created_at timestamptz not null default now(),
  primary key (user_id, group_id)
);

create table asset_groups (
  user_id text not null references users on delete cascade,
  id text not null,
  -- The service group, its variant and the upstream account. No references: a group outlives its configuration.
  group_id text not null,
  variant text not null check (variant in ('A', 'EP', 'HC')),
  account_id text not null,
  name text not null,
  description text not null default '',
  group_type text not null check (group_type in ('AIGC', 'LivenessFace')),
  -- The upstream group that holds the assets of a variant without groups; callers never see it.
  is_hidden boolean not null default false,
  status text not null check (status in
    ('creating', 'active', 'failed', 'create_unknown', 'invalid', 'deleting', 'deleted', 'delete_failed')),
  upstream_id text,
  -- When a worker looks at the group next: to resolve an unknown creation or to repeat a deletion.
  next_check_at timestamptz,
  check_attempts integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (user_id, id),
  check (status <> 'active' or upstream_id is not null),
  check ((status = 'deleted') = (deleted_at is not null))
);
create index asset_groups_of_user on asset_groups (user_id, created_at desc, id desc) where deleted_at is null and not is_hidden;
-- A hidden group that the provider lost keeps its assets and gets a successor.
create unique index asset_groups_hidden on asset_groups (user_id, group_id, account_id) where is_hidden and status <> 'invalid';
-- The groups of one real person.
create index asset_groups_of_person on asset_groups (account_id, upstream_id) where group_type = 'LivenessFace';
create index asset_groups_due on asset_groups (next_check_at) where next_check_at is not null;
create index asset_groups_deleted on asset_groups (deleted_at) where deleted_at is not null;

create table assets (
  user_id text not null references users on delete cascade,
  id text not null,
  asset_group_id text not null,
  group_id text not null,
  variant text not null check (variant in ('A', 'EP', 'HC')),
  account_id text not null,
  name text not null default '',
  asset_type text not null check (asset_type in ('Image', 'Video', 'Audio')),
  status text not null check (status in
    ('creating', 'processing', 'active', 'failed', 'create_unknown', 'invalid', 'deleting', 'deleted', 'delete_failed')),
  source_url text not null,
  upstream_id text,
  -- The provider's reason for a failure, for operators.
  failure text,
  -- When the provider was asked last; a refresh within two seconds returns the saved state.
  refreshed_at timestamptz,
  next_check_at timestamptz,
  check_attempts integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (user_id, id),
  foreign key (user_id, asset_group_id) references asset_groups (user_id, id) on delete cascade,
  check (status <> 'active' or upstream_id is not null),
  check ((status = 'deleted') = (deleted_at is not null))
);
-- Lists filter in the index; only the rows of the page are read.
create index assets_of_user on assets (user_id, created_at desc, id desc)
  include (status, asset_type, asset_group_id, group_id) where deleted_at is null;
create index assets_by_status on assets (user_id, status, created_at desc, id desc) where deleted_at is null;
create index assets_of_group on assets (user_id, asset_group_id, created_at desc, id desc) where deleted_at is null;
create index assets_due on assets (next_check_at) where next_check_at is not null;
create index assets_deleted on assets (deleted_at) where deleted_at is not null;

-- Assets that a task uses; an asset of an unfinished task cannot be deleted.
create table video_task_assets (
  user_id text not null,
  task_id text not null,
  asset_id text not null,
  primary key (user_id, task_id, asset_id),
  foreign key (user_id, task_id) references video_tasks (user_id, id) on delete cascade
);
create index video_task_assets_of_asset on video_task_assets (user_id, asset_id);

create table authorization_sessions (
  user_id text not null references users on delete cascade,
  id text not null,
  -- The service group, its variant and the upstream account, which also holds the group of the person.
  group_id text not null,
  variant text not null check (variant in ('A', 'EP', 'HC')),
  account_id text not null,
  name text not null default '',
  description text not null default '',
  status text not null check (status in ('pending', 'verifying', 'completed', 'failed', 'expired')),
  -- Sealed, and dropped with the outcome: the provider's token and the link for the browser. A session without them is being created.
  upstream_token_sealed text,
  link_sealed text,
  -- SHA-256 of the secret path to which the browser returns.
  return_token_hash bytea not null,
  -- Where the return page leads to.
  redirect_url text,
  asset_group_id text,
  -- When the provider was asked last; the return page asks at most every two seconds.
  checked_at timestamptz,
  next_check_at timestamptz,
  check_attempts integer not null default 0,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (user_id, id),
  check ((status = 'completed') = (asset_group_id is not null)),
  check (status <> 'verifying' or upstream_token_sealed is not null),
  check (status in ('pending', 'verifying') or (upstream_token_sealed is null and link_sealed is null and next_check_at is null))
);
create unique index authorization_sessions_return on authorization_sessions (return_token_hash);
create index authorization_sessions_due on authorization_sessions (next_check_at) where next_check_at is not null;
create index authorization_sessions_ended on authorization_sessions (updated_at) where status in ('failed', 'expired');

-- The catalog of public characters: what an administrator publishes.
alter table characters
  add column published boolean not null default true,
  add column licence text not null default '',
  add column preview bytea,
  add column preview_type text;
