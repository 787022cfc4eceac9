-- Converted calls of the key get cache breakpoints where the client's dialect has none: an off switch per key.
alter table keys add column auto_cache boolean not null default true;
