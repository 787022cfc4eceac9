-- Files that callers upload and name in requests. The content is sealed, in rows of at most half a mebibyte.
create table files (
  user_id text not null references users on delete cascade,
  id text not null,
  key_id text,
  name text not null,
  media_type text not null,
  purpose text not null,
  bytes bigint not null,
  -- Null while pieces of it still arrive.
  completed_at timestamptz,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (user_id, id)
);
create index files_newest on files (user_id, created_at desc, id desc);
create index files_expiry on files (expires_at);
create trigger files_have_owner before insert on files for each row execute function refuse_erased();

create table file_parts (
  user_id text not null,
  file_id text not null,
  -- The position of its first byte in the file.
  start bigint not null,
  sealed bytea not null,
  primary key (user_id, file_id, start),
  foreign key (user_id, file_id) references files (user_id, id) on delete cascade
);
-- Sealed bytes do not shrink.
alter table file_parts alter column sealed set storage external;

-- Files are at no provider, so that they go at once with the user.
create function erase_files() returns trigger language plpgsql as $$
begin
  delete from files where user_id = new.id;
  return null;
end $$;
create trigger users_erase_files after update of erased_at on users for each row
  when (new.erased_at is not null and old.erased_at is null) execute function erase_files();

-- With files.
drop function erasure_counts(text);
create function erasure_counts(erased text, out keys int, out people int, out warnings int, out destinations int, out tasks int,
  out assets int, out asset_groups int, out authorizations int, out responses int, out captures int, out callbacks int, out calls int, out files int)
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
    (select count(*) from (select from stored_responses where user_id = erased limit 100000) n),
    (select count(*) from (select from captures where user_id = erased limit 100000) n),
    (select count(*) from (select from callback_events where user_id = erased limit 100000) n),
    (select count(*) from (select from requests where user_id = erased limit 100000) n),
    (select count(*) from (select from files where user_id = erased limit 100000) n)
$$;
