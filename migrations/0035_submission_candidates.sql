-- Submissions whose outcome is unknown: the provider's tasks that can be theirs, for operators to decide.

alter table video_tasks
  -- Tasks of the provider that no rule assigns, as of the last check. Null: none.
  add column candidates jsonb,
  -- An operator decided that the provider has no task for this one, so that it claims none.
  add column dismissed_at timestamptz;

-- Tasks that one of the provider's tasks can belong to.
create index video_tasks_claims on video_tasks (account_id, created_at)
  where upstream_id is null and submission in ('sending', 'unknown');
