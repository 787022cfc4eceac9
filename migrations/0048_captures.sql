-- Bodies of calls, kept only while an operator or the owner has switched capture on for a key.
alter table keys add column capture_until timestamptz;

create table captures (
  user_id text not null,
  request_id text not null,
  key_id text not null,
  at timestamptz not null default now(),
  -- Of both bodies, for the limit of the key.
  bytes integer not null,
  -- Request and response, encrypted.
  sealed text not null,
  primary key (user_id, request_id)
);
create index captures_of_key on captures (user_id, key_id) include (bytes);
create index captures_of_request on captures using hash (request_id);
create index captures_by_age on captures (at);
