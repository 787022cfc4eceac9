-- After a rotation of the master key, the secrets of tasks with callbacks are found without a scan of all tasks.
create index video_tasks_sealing_key on video_tasks (split_part(callback_secret_sealed, ':', 2)) where callback_url is not null;
