-- An account may serve several groups with one credential, one health and one concurrency limit. Null: `group_id` alone.
alter table accounts add column groups text[] check (cardinality(groups) > 0);
-- Its features in single groups, where they differ: by the id of the group.
alter table accounts add column group_features jsonb not null default '{}';

create function leave_group() returns trigger language plpgsql as $$
begin
  update accounts set groups = array_remove(groups, old.id),
    group_id = case when group_id = old.id then (array_remove(groups, old.id))[1] else group_id end
  where groups @> array[old.id] and cardinality(groups) > 1;
  return old;
end $$;
create trigger groups_leave_accounts before delete on groups for each row execute function leave_group();

-- Each account in each of its groups.
create view account_groups as
  select a.id as account_id, g.id as group_id from accounts a cross join unnest(coalesce(a.groups, array[a.group_id])) g (id);
