-- Conversations that callers name in responses requests. Their items are put into the request, so that any account can serve it.
create table conversations (
  user_id text not null references users on delete cascade,
  id text not null,
  metadata jsonb not null default '{}',
  -- Of its items.
  items int not null default 0,
  bytes bigint not null default 0,
  -- The number of the next item.
  next_n int not null default 0,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (user_id, id)
);
create index conversations_expiry on conversations (expires_at);
create trigger conversations_have_owner before insert on conversations for each row execute function refuse_erased();

create table conversation_items (
  user_id text not null,
  conversation_id text not null,
  n int not null,
  id text not null,
  bytes int not null,
  sealed text not null,
  primary key (user_id, conversation_id, n),
  foreign key (user_id, conversation_id) references conversations (user_id, id) on delete cascade
);

create or replace function erase_files() returns trigger language plpgsql as $$
begin
  delete from files where user_id = new.id;
  delete from batches where user_id = new.id;
  delete from conversations where user_id = new.id;
  return null;
end $$;
