-- Responses of callers who do not want any kept: an off switch per key.
alter table keys add column store boolean not null default true;
