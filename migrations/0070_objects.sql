-- What a user may keep in files; null: the limits of the gateway.
alter table users
  add column max_files integer check (max_files > 0),
  add column max_file_mib integer check (max_file_mib > 0);

-- UTC days for which kept files are charged, where they have a price.
create table file_charges (
  day date primary key,
  charged_at timestamptz not null default now()
);

-- What callers keep under an id of its own, in one list. Each kind has its index of the newest, so that a page reads its own rows: PostgreSQL uses
-- them only while no part has a condition, so that an upload in pieces is marked instead of left out.
create view kept_objects as
  select 'file'::text as kind, user_id, key_id, id, name, bytes, null::text as account_id, null::text as state, created_at, expires_at,
    completed_at is not null as is_complete from files
  union all
  select 'batch', user_id, key_id, id, operation, case when state = 'running' then result_bytes end, null, state, created_at, kept_until, true
    from batches
  union all
  select 'conversation', user_id, null, id, null, bytes, null, null, created_at, expires_at, true from conversations;
create index files_created on files (created_at desc, id desc);
create index batches_created_at on batches (created_at desc, id desc);
create index conversations_created on conversations (created_at desc, id desc);
create index conversations_newest on conversations (user_id, created_at desc, id desc);
