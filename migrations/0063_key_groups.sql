-- A key may reach several groups: the model of a request chooses the first of them that has it. Null: `group_id` alone.
alter table keys add column groups text[] check (cardinality(groups) > 0);
-- Among the groups that have the model, the first that serves the dialect of the client natively.
alter table keys add column prefer text not null default 'order' check (prefer in ('order', 'native'));

create or replace function key_needs_group() returns trigger language plpgsql as $$
declare
  needed text;
begin
  foreach needed in array coalesce(new.groups, array[new.group_id]) loop
    perform from groups where id = needed for key share;
    if not found then
      raise exception 'there is no group %', needed using errcode = 'foreign_key_violation', constraint = 'keys_group_id_fkey';
    end if;
  end loop;
  return new;
end $$;
drop trigger keys_have_groups on keys;
create trigger keys_have_groups before insert or update of group_id, groups on keys for each row execute function key_needs_group();

-- A key loses a group that is gone; without any other it is revoked, and keeps saying which groups it had.
create or replace function revoke_keys() returns trigger language plpgsql as $$
begin
  update keys set revoked_at = now() where revoked_at is null and coalesce(groups, array[group_id]) = array[old.id];
  update keys set groups = array_remove(groups, old.id) where revoked_at is null and groups @> array[old.id];
  return old;
end $$;
