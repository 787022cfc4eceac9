-- Replies to changes that carried an Idempotency-Key, for a day: a repeated submission gets the first reply and changes nothing.
create table change_replies (
  -- Hash of the actor, the operation and the key.
  id bytea primary key,
  -- Hash of the path, the query and the body.
  fingerprint bytea not null,
  -- Null while the change runs. Sealed, because the reply may hold the value of a new key.
  reply_sealed text,
  created_at timestamptz not null default now()
);
create index change_replies_created on change_replies (created_at);
