-- Announcements of new work, so that a worker without work does not search for it every second. They may be lost: workers also look by
-- themselves, less often (src/worker/work-gate.ts).

-- A session announces each kind at most once a second, because commits that notify wait for one another. A worker that was woken goes on for
-- longer than that.
create function announce_work() returns trigger language plpgsql as $$
declare
  setting constant text := 'dragoman.announced_' || tg_argv[0];
  seconds constant float8 := extract(epoch from clock_timestamp());
begin
  if abs(seconds - coalesce(nullif(current_setting(setting, true), ''), '0')::float8) < 1 then return null; end if;
  perform set_config(setting, seconds::text, false);
  perform pg_notify('dragoman_work', tg_argv[0]);
  return null;
end $$;

create trigger video_tasks_created after insert on video_tasks for each statement execute function announce_work('tasks');
create trigger video_tasks_resulted after update of result_url on video_tasks for each row
  when (new.result_url is not null and old.result_url is null) execute function announce_work('results');
create trigger callback_events_created after insert on callback_events for each statement execute function announce_work('callbacks');
create trigger callback_events_repeated after update of state on callback_events for each row
  when (new.state = 'pending' and old.state <> 'pending') execute function announce_work('callbacks');
create trigger asset_groups_created after insert on asset_groups for each statement execute function announce_work('assets');
create trigger asset_groups_due_sooner after update of next_check_at on asset_groups for each row
  when (new.next_check_at < coalesce(old.next_check_at, 'infinity')) execute function announce_work('assets');
create trigger assets_created after insert on assets for each statement execute function announce_work('assets');
create trigger assets_due_sooner after update of next_check_at on assets for each row
  when (new.next_check_at < coalesce(old.next_check_at, 'infinity')) execute function announce_work('assets');
create trigger authorization_sessions_created after insert on authorization_sessions for each statement execute function announce_work('sessions');
create trigger authorization_sessions_due_sooner after update of next_check_at on authorization_sessions for each row
  when (new.next_check_at < coalesce(old.next_check_at, 'infinity')) execute function announce_work('sessions');
create trigger background_responses_created after insert on background_responses for each statement execute function announce_work('background');
create trigger background_responses_due_sooner after update of next_check_at on background_responses for each row
  when (new.next_check_at < old.next_check_at) execute function announce_work('background');

-- Servers read the alarms when they change.
create function announce_alarms() returns trigger language plpgsql as $$
begin
  perform pg_notify('dragoman_work', 'alarms');
  return null;
end $$;
create trigger alarms_changed after insert or update or delete on alarms for each statement execute function announce_alarms();

-- Servers read the cooldowns of other servers when they change, as they do the parks.
create trigger account_cooldowns_changed after insert or update or delete on account_cooldowns for each statement execute function move_revision('pool');
