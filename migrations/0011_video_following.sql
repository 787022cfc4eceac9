-- Following tasks to their end, their results, and the callbacks that announce every change of status.

alter table video_tasks
  add column operation text not null default 'tasks.create' check (operation in ('tasks.create', 'videos.create')),
  -- Addresses of the results at the provider. Callers get our own addresses.
  add column result_url text,
  add column last_frame_url text,
  -- When the provider reported these addresses; they expire.
  add column result_reported_at timestamptz,
  -- Reports in a row that the provider does not know the task, and the first of them.
  add column missing_reports integer not null default 0,
  add column missing_since timestamptz,
  -- A success without usage is asked about until then; afterwards an operator decides about its hold.
  add column review_until timestamptz;
create index video_tasks_following on video_tasks (account_id, next_check_at)
  where submission = 'confirmed' and next_check_at is not null;
create index video_tasks_in_review on video_tasks (review_until) where review_until is not null;
create index video_tasks_overdue on video_tasks (expires_at) where finished_at is null;

-- One row per change of status of a task with a callback URL (V 6). The body is kept as it is signed and sent.
create table callback_events (
  user_id text not null references users on delete cascade,
  task_id text not null,
  version integer not null,
  event_id text not null,
  url text not null,
  -- Limits and cooldowns of a destination are by user and host.
  host text not null,
  body bytea not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
  attempts integer not null default 0,
  -- When the next attempt is due; a worker that takes the event moves it, so that no other worker sends it meanwhile.
  next_at timestamptz not null default now(),
  last_status smallint,
  last_error text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (user_id, task_id, version),
  unique (user_id, event_id),
  check ((state = 'pending') = (finished_at is null))
);
create index callback_events_due on callback_events (next_at) where state = 'pending';
create index callback_events_of_host on callback_events (user_id, host, created_at desc);
create index callback_events_finished on callback_events (finished_at) where finished_at is not null;

-- The delivery log: one row per attempt.
create table callback_attempts (
  user_id text not null,
  event_id text not null,
  attempt integer not null,
  status smallint,
  error text,
  duration_ms integer not null,
  created_at timestamptz not null default now(),
  primary key (user_id, event_id, attempt),
  foreign key (user_id, event_id) references callback_events (user_id, event_id) on delete cascade
);
