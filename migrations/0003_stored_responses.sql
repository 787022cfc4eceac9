-- Responses that callers may refer to later (G 4.4). On converted groups the whole conversation is kept, sealed; on native ones only
-- whose response it was and which account made it. Rows are per user, never per key.
create table stored_responses (
  id text primary key,
  user_id text not null references users on delete cascade,
  -- The account that holds the response itself; null when we hold it.
  account_id text,
  -- Ids of the items in it, for references to single items.
  item_ids text[] not null default '{}',
  sealed text,
  expires_at timestamptz not null,
  created_at timestamptz not null default now()
);
create index stored_responses_items on stored_responses using gin (item_ids) where sealed is not null;
create index stored_responses_expiry on stored_responses (expires_at);
