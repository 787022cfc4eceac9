-- Tokens that the task was held for: usage far above them is not believed. Null for tasks of earlier versions.
alter table video_tasks add column max_tokens bigint check (max_tokens >= 0);
