-- What callers see of their video tasks: signed links to results, and their callback deliveries.

alter table video_tasks
  -- Links of an older epoch are revoked.
  add column link_epoch integer not null default 0;

-- The deliveries of one user, newest first.
create index callback_events_of_user on callback_events (user_id, created_at desc, event_id desc);
