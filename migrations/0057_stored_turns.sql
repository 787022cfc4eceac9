-- A stored response holds what its turn adds and names the one before. Older rows hold their whole conversation and name none.
alter table stored_responses
  add column previous_id text,
  add column key_id text,
  -- Of the JSON text: of this turn, and of it with all turns before. Older rows count nothing, and their sealed text tells their size.
  add column bytes bigint not null default 0,
  add column chain_bytes bigint,
  add column chain_turns integer,
  -- Deleted or expired: callers do not find it, and it stays while later turns need it.
  add column is_hidden boolean not null default false;
create index stored_responses_previous on stored_responses (user_id, previous_id) where previous_id is not null;

-- What the stored responses of a key take, for the limits of keys and users. Counted by triggers, because jobs and cascades delete too.
create table stored_bytes (
  user_id text not null references users on delete cascade,
  key_id text not null,
  bytes bigint not null,
  primary key (user_id, key_id)
);

-- Rows of several users are locked in one order, so that two batches do not wait for each other.
create function add_stored_bytes() returns trigger language plpgsql as $$
begin
  insert into stored_bytes (user_id, key_id, bytes)
    select user_id, coalesce(key_id, ''), sum(bytes) from added where bytes > 0 group by 1, 2 order by 1, 2
    on conflict (user_id, key_id) do update set bytes = stored_bytes.bytes + excluded.bytes;
  return null;
end $$;
create function subtract_stored_bytes() returns trigger language plpgsql as $$
begin
  perform from stored_bytes where (user_id, key_id) in (select user_id, coalesce(key_id, '') from gone where bytes > 0)
    order by user_id, key_id for update;
  update stored_bytes set bytes = stored_bytes.bytes - less.bytes
    from (select user_id, coalesce(key_id, '') as key_id, sum(bytes) as bytes from gone where bytes > 0 group by 1, 2) less
    where stored_bytes.user_id = less.user_id and stored_bytes.key_id = less.key_id;
  return null;
end $$;
create trigger stored_responses_added after insert on stored_responses
  referencing new table as added for each statement execute function add_stored_bytes();
create trigger stored_responses_deleted after delete on stored_responses
  referencing old table as gone for each statement execute function subtract_stored_bytes();
-- The end of a background response replaces its row.
create trigger stored_responses_grown after update on stored_responses
  referencing new table as added for each statement execute function add_stored_bytes();
create trigger stored_responses_shrunk after update on stored_responses
  referencing old table as gone for each statement execute function subtract_stored_bytes();
