-- Limits of an account: requests and tokens a minute, and the provider's cost in dollars a UTC day and month. Null: no limit.
alter table accounts
  add column rpm integer check (rpm > 0),
  add column tpm integer check (tpm > 0),
  add column cost_day text check (cost_day ~ '^[0-9]+(\.[0-9]+)?$'),
  add column cost_month text check (cost_month ~ '^[0-9]+(\.[0-9]+)?$');

-- By account, of those with limits: requests and tokens of the last minute on the replica, and the limit that is reached with the time at
-- which it is free again.
alter table account_loads add column used jsonb not null default '{}';
