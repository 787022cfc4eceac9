-- Groups, accounts, models, users, keys: what an operator configures. Every write to them moves a revision on, in the same
-- transaction, and says so on a channel; replicas watch the revisions (src/db/watch.ts).

create table revisions (
  name text primary key,
  revision bigint not null default 1
);
insert into revisions (name) values ('catalog'), ('identity');

create function move_revision() returns trigger language plpgsql as $$
begin
  update revisions set revision = revision + 1 where name = tg_argv[0];
  perform pg_notify('dragoman', tg_argv[0]);
  return null;
end $$;

-- Secrets of the installation itself, sealed by the master key.
create table secrets (
  name text primary key,
  sealed text not null
);

create table groups (
  id text primary key check (id ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
  style text not null check (style in ('responses', 'messages', 'generate-content', 'video')),
  variant text check (variant in ('A', 'EP', 'HC')),
  name text not null,
  multiplier_ppm bigint not null default 1000000 check (multiplier_ppm >= 0),
  position integer not null,
  created_at timestamptz not null default now(),
  check ((style = 'video') = (variant is not null))
);

create table accounts (
  id text primary key check (id ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
  group_id text not null references groups on delete cascade,
  base_url text not null,
  credential_sealed text not null,
  weight integer not null check (weight between 0 and 1000),
  priority integer not null default 0,
  max_concurrency integer not null check (max_concurrency > 0),
  features text[] not null,
  models jsonb not null default '{}',
  result_hosts text[] not null default '{}',
  assets jsonb,
  assets_secret_sealed text,
  position integer not null,
  created_at timestamptz not null default now()
);

create table models (
  id bigint generated always as identity primary key,
  group_id text not null references groups on delete cascade,
  pattern text not null,
  upstream text,
  capabilities jsonb not null default '{}',
  context integer check (context > 0),
  max_output integer check (max_output > 0),
  position integer not null,
  created_at timestamptz not null default now(),
  unique (group_id, pattern)
);

-- Append-only: a charge names the row it was made with. Amounts are nano-dollars per million tokens, or per piece.
create table prices (
  id bigint generated always as identity primary key,
  model_id bigint not null references models on delete cascade,
  valid_from timestamptz not null default now(),
  rates jsonb not null
);
create index prices_of_model on prices (model_id, valid_from desc, id desc);

create table users (
  id text primary key check (id ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
  email text,
  multiplier_ppm bigint not null default 1000000 check (multiplier_ppm >= 0),
  created_at timestamptz not null default now()
);

-- Money put in. The reference makes each credit happen once: `open:<user>` is the opening balance of a configuration file.
create table credits (
  reference text primary key,
  user_id text not null references users on delete cascade,
  nanos bigint not null,
  reason text not null,
  created_at timestamptz not null default now()
);

-- A key is kept as its HMAC under a random pepper (table secrets): a stolen dump opens nothing.
create table keys (
  id text primary key,
  user_id text not null references users on delete cascade,
  group_id text not null references groups on delete cascade,
  name text not null,
  hash bytea not null unique,
  hint text not null,
  callback_secret_sealed text not null,
  video_groups text[],
  allowed_models text[],
  allowed_addresses text[],
  limits jsonb not null default '{}',
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  unique (user_id, group_id, name)
);

create table characters (
  id text primary key,
  public_id text not null unique,
  group_id text not null references groups on delete cascade,
  models text[] not null,
  upstream_asset text not null,
  name text not null,
  tags text[] not null default '{}',
  gender text not null default '',
  age_group text not null default '',
  nationality text not null default '',
  preview_url text not null default '',
  position integer not null,
  created_at timestamptz not null default now()
);

-- People who may sign in to run the gateway.
create table admins (
  id text primary key,
  email text not null unique,
  password_hash text not null,
  created_at timestamptz not null default now()
);

create trigger groups_changed after insert or update or delete on groups for each statement execute function move_revision('catalog');
create trigger accounts_changed after insert or update or delete on accounts for each statement execute function move_revision('catalog');
create trigger models_changed after insert or update or delete on models for each statement execute function move_revision('catalog');
create trigger prices_changed after insert or update or delete on prices for each statement execute function move_revision('catalog');
create trigger characters_changed after insert or update or delete on characters for each statement execute function move_revision('catalog');
create trigger users_changed after insert or update or delete on users for each statement execute function move_revision('identity');
create trigger keys_changed after insert or update or delete on keys for each statement execute function move_revision('identity');
