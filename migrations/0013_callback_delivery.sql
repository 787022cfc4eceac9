-- Delivery of callbacks: what workers of all replicas must agree on.

alter table callback_events
  -- While an attempt runs: the end of its lease. Limits of concurrency count these events.
  add column sending_until timestamptz,
  -- Attempts before the last redelivery. The schedule counts from there.
  add column attempts_before integer not null default 0;

-- Due events are found by destination, so that the backlog of one destination never delays another.
drop index callback_events_due;
create index callback_events_due on callback_events (user_id, host, next_at) where state = 'pending';
create index callback_events_sending on callback_events (user_id, host) where sending_until is not null;

-- The delivery log, newest first; by event; by task.
create index callback_events_log on callback_events (created_at desc, event_id desc);
create index callback_events_by_id on callback_events (event_id);
create index callback_events_of_task on callback_events (task_id);
create index callback_events_dead on callback_events (finished_at) where state = 'dead';

-- Destinations whose last attempt failed. A success removes the row.
create table callback_circuits (
  user_id text not null references users on delete cascade,
  host text not null,
  -- Failures in a row.
  failures integer not null default 1,
  -- Failed probes since the circuit opened; each doubles the time to the next.
  probes integer not null default 0,
  -- When the next probe is due. Null while the circuit is closed; a worker that takes the probe moves it.
  probe_at timestamptz,
  updated_at timestamptz not null default now(),
  primary key (user_id, host)
);
