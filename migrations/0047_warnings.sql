-- Warnings: thresholds, the places that get notices, what holds now, and what was sent. An empty owner stands for the operators.

create table warning_destinations (
  user_id text not null,
  id text not null,
  name text not null,
  kind text not null,
  -- Of a webhook, Slack or Teams. It contains a token, so only its host is shown.
  url_sealed text,
  host text,
  -- Signs the notices of a webhook.
  secret_sealed text,
  -- Of mail. Those of a user count only while a person of the user has them.
  addresses text[],
  -- {"from": "22:00", "to": "07:00", "timezone": "Europe/Berlin"}
  quiet jsonb,
  created_at timestamptz not null default now(),
  primary key (user_id, id)
);

create table warning_rules (
  user_id text not null,
  id text not null,
  name text not null,
  kind text not null,
  scope text not null,
  -- Null: each of the scope.
  subject text,
  period text,
  nanos bigint,
  percent integer,
  min_calls integer,
  -- Of accounts.
  states text[],
  -- Null: all destinations of the owner.
  destinations text[],
  paused boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (user_id, id)
);
create trigger warning_rules_changed after insert or update on warning_rules for each statement execute function announce_work('warnings');

-- Subjects for which a rule holds. A row is written with its notice, and removed when the condition ends.
create table warning_states (
  user_id text not null,
  rule_id text not null,
  subject text not null,
  -- The day or month of the figure, or empty.
  period text not null,
  value text not null,
  since timestamptz not null default now(),
  primary key (user_id, rule_id, subject, period),
  foreign key (user_id, rule_id) references warning_rules on delete cascade
);

create table notices (
  user_id text not null,
  id text not null,
  -- Stays when the rule is deleted.
  rule_id text not null,
  -- What the destinations get: ids and figures, never data of calls.
  content jsonb not null,
  created_at timestamptz not null default now(),
  primary key (user_id, id)
);
create index notices_newest on notices (user_id, created_at desc, id desc);
create index notices_by_age on notices (created_at);

create table notice_deliveries (
  user_id text not null,
  notice_id text not null,
  destination_id text not null,
  state text not null default 'pending',
  attempts integer not null default 0,
  next_at timestamptz not null default now(),
  last_status smallint,
  last_error text,
  finished_at timestamptz,
  primary key (user_id, notice_id, destination_id),
  foreign key (user_id, notice_id) references notices on delete cascade
);
create index notice_deliveries_due on notice_deliveries (next_at) where finished_at is null;
create index notice_deliveries_of_destination on notice_deliveries (user_id, destination_id) where finished_at is null;
create trigger notice_deliveries_created after insert on notice_deliveries for each statement execute function announce_work('notices');
