-- Background responses of converted groups: the process that accepted one makes the response itself, and extends `next_check_at` while
-- it does. When that time has passed, the process has ended.
alter table background_responses
  drop constraint background_responses_state_check,
  add constraint background_responses_state_check
    check (state in ('sending', 'running', 'converting', 'settled', 'released')),
  -- A caller asked for the end of the response; the process that makes it sees that within a second.
  add column cancelled_at timestamptz;
-- How many of a user run at the same time.
create index background_responses_converting on background_responses (user_id) where state = 'converting';
