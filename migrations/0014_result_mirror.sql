-- Mirroring of results by the worker, before their addresses at the provider expire.

alter table video_tasks
  -- When the results were mirrored, or given up.
  add column mirrored_at timestamptz,
  -- A worker that takes the task moves it, so that no other worker fetches the results meanwhile.
  add column mirror_after timestamptz;
create index video_tasks_unmirrored on video_tasks (result_reported_at)
  where result_url is not null and mirrored_at is null;
