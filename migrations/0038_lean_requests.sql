-- Most calls have one attempt, which succeeds: its times are columns, and the rest of it is in the row already. `attempts` is null then. Both
-- columns are null for calls of earlier versions, and for calls with several attempts or a failed one.
alter table requests
  add column attempt_start_ms real,
  add column attempt_end_ms real;
