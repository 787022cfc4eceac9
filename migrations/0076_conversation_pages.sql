-- runs with: 0.2.0
-- The items that a turn adds, sealed as a whole, so that continuing a conversation opens few texts. Rows of conversation_items, which servers
-- of 0.2.0 write, go on being read; those servers do not see pages.
create table conversation_pages (
  user_id text not null,
  conversation_id text not null,
  -- Random: a page is sealed before its numbers are known.
  id text not null,
  -- Numbers of its first item, and of the one after its last.
  first_n int not null,
  next_n int not null,
  -- Of the items that are left, in their order.
  item_ids text[] not null,
  bytes int not null,
  -- A JSON list.
  sealed text not null,
  primary key (user_id, conversation_id, first_n),
  foreign key (user_id, conversation_id) references conversations (user_id, id) on delete cascade
);
