-- Families of video providers beside the first two. The configuration knows their names.
alter table accounts drop constraint accounts_adapter_check;

-- What `max_tokens` and `usage_tokens` of a task count, as the price of its model does.
alter table video_tasks add column unit text not null default 'tokens' check (unit in ('tokens', 'seconds', 'videos'));
