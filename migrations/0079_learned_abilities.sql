-- runs with: 0.2.0
-- What replies of a line have shown that its models can do, or are served as, beyond what was known of them.
alter table models add column learned jsonb not null default '{}';
