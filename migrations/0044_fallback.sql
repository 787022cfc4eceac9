-- Lines of other groups that take the calls of a model while its own accounts are out.

alter table models
  -- `group/model`, or `group` for the same name, in the order in which they are tried.
  add column fallback text[] not null default '{}';
