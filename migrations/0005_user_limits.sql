-- What all keys of a user together may do; the same fields as keys.limits.
alter table users add column limits jsonb not null default '{}';
