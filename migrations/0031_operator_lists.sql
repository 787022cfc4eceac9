-- Operators read video tasks and private assets of all users, newest first, and one task by its id alone.
create index video_tasks_newest on video_tasks (created_at desc, id desc) where deleted_at is null;
create index video_tasks_by_id on video_tasks (id);
create index assets_newest on assets (created_at desc, id desc) where deleted_at is null;
