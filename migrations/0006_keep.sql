-- What history names outlives what is configured: prices of models that are gone, keys of groups that are gone.

-- A charge names the row of its price. The row keeps whose price it was, and loses the model only.
alter table prices add column model_group text not null default '', add column model_pattern text not null default '';
update prices p set model_group = m.group_id, model_pattern = m.pattern from models m where m.id = p.model_id;
alter table prices
  alter column model_id drop not null,
  drop constraint prices_model_id_fkey,
  add constraint prices_model_id_fkey foreign key (model_id) references models on delete set null;

create function name_price() returns trigger language plpgsql as $$
begin
  select group_id, pattern into strict new.model_group, new.model_pattern from models where id = new.model_id;
  return new;
end $$;
create trigger prices_have_names before insert on prices for each row execute function name_price();

create function keep_price() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.model_id is null
    and (new.id, new.valid_from, new.rates, new.cost, new.model_group, new.model_pattern)
      is not distinct from (old.id, old.valid_from, old.rates, old.cost, old.model_group, old.model_pattern) then
    return new;
  end if;
  raise exception 'prices is append-only' using errcode = 'restrict_violation';
end $$;
create trigger prices_stay before update or delete on prices for each row execute function keep_price();
create trigger prices_stay_all before truncate on prices for each statement execute function refuse_change();

-- Usage is told by key. A key of a group that is gone is revoked, and keeps saying which group it was.
alter table keys drop constraint keys_group_id_fkey;

create function key_needs_group() returns trigger language plpgsql as $$
begin
  perform from groups where id = new.group_id for key share;
  if not found then
    raise exception 'there is no group %', new.group_id using errcode = 'foreign_key_violation', constraint = 'keys_group_id_fkey';
  end if;
  return new;
end $$;
create trigger keys_have_groups before insert or update of group_id on keys for each row execute function key_needs_group();

create function revoke_keys() returns trigger language plpgsql as $$
begin
  update keys set revoked_at = now() where group_id = old.id and revoked_at is null;
  return old;
end $$;
create trigger groups_leave_no_keys before delete on groups for each row execute function revoke_keys();
