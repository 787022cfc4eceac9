alter table video_tasks
  -- Equal submissions of a user differ by the expiry that the provider is sent and returns. Null: the request set one.
  add column sent_expiry integer check (sent_expiry > 0),
  -- The caller's own name of the task.
  add column label text,
  -- Types of events that are sent to the callback URL; null: all.
  add column callback_types text[];
create index video_tasks_labelled on video_tasks (user_id, label) where label is not null and deleted_at is null;

-- Where callbacks of tasks go that are created without a URL of their own.
create table callback_defaults (
  user_id text primary key references users on delete cascade,
  url text not null,
  types text[],
  updated_at timestamptz not null default now()
);

alter table users
  -- Video tasks that the user may create in a minute; null: the setting of the installation.
  add column video_creates integer check (video_creates > 0),
  -- Calls name the end user whom they are for, and limits of operations apply to each.
  add column end_users boolean not null default false;

-- Reads of video tasks in a second; null: the setting of the installation.
alter table accounts add column polls_per_second integer check (polls_per_second > 0);
