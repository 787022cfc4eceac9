-- Accounts that speak chat completions: the preset of their server, null for the one of its host, and what the operator knows of it.

alter table accounts
  add column preset text,
  add column capabilities jsonb not null default '{}';
