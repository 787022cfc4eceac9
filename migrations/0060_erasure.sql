-- Erasure of a user: the person goes, the ledger stays under the id of the user.

-- From then on nobody has keys, people or warnings of the user.
alter table users add column erased_at timestamptz;

create table erasures (
  user_id text primary key references users,
  -- Who asked for it, as in the audit log.
  actor text not null,
  -- What there was to erase when it was asked for.
  counts jsonb not null,
  -- Objects that providers keep: they cannot be deleted there, or their account is gone.
  left_at_providers integer not null default 0,
  requested_at timestamptz not null default now(),
  -- A worker that takes the erasure moves it. Null when calls of the user cannot come any more.
  next_check_at timestamptz default now(),
  -- Lines of the request log that began before are erased.
  log_erased_to timestamptz,
  finished_at timestamptz
);
create index erasures_due on erasures (next_check_at) where next_check_at is not null;
create trigger erasures_created after insert on erasures for each statement execute function announce_work('erasures');

create index stored_responses_of_user on stored_responses (user_id);

-- The lock waits for an erasure that is being asked for.
create function refuse_erased() returns trigger language plpgsql as $$
declare
  erased timestamptz;
begin
  select erased_at into erased from users where id = new.user_id for key share;
  if erased is not null then
    raise exception 'The user "%" was erased; use another id.', new.user_id using errcode = 'DG001';
  end if;
  return new;
end $$;
create trigger keys_have_owner before insert on keys for each row execute function refuse_erased();
create trigger people_have_owner before insert or update of user_id on people for each row
  when (new.user_id is not null) execute function refuse_erased();
create trigger warning_rules_have_owner before insert on warning_rules for each row execute function refuse_erased();
create trigger warning_destinations_have_owner before insert on warning_destinations for each row execute function refuse_erased();

create function refuse_erased_change() returns trigger language plpgsql as $$
begin
  raise exception 'The user "%" was erased; use another id.', new.id using errcode = 'DG001';
end $$;
create trigger users_stay_erased before update on users for each row
  when (old.erased_at is not null) execute function refuse_erased_change();

-- An erasure takes names and addresses out of lines of the audit log; who did what to which object, and when, never changes.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and current_setting('dragoman.erasing', true) = 'on'
    and (new.id, new.at, new.actor, new.action, new.subject, new.request_id)
      is not distinct from (old.id, old.at, old.actor, old.action, old.subject, old.request_id) then return new; end if;
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
drop trigger audit_stays on audit;
create trigger audit_stays before update or delete on audit for each row execute function refuse_audit_change();

-- Ends every access of the user, and removes what names people. Operators keep their sign-in; keys keep their ids, which sums of usage have.
create function begin_erasure(erased text, by_actor text, erases jsonb) returns void language plpgsql as $$
declare
  named text[] := array['email', 'name', 'addresses', 'hint', 'host'];
  own text[] := array(
    select 'user:' || erased union all select 'key:' || id from keys where user_id = erased
    union all select 'person:' || id from people where user_id = erased and role = 'user'
    union all select 'warning:' || id from warning_rules where user_id = erased
    union all select 'destination:' || id from warning_destinations where user_id = erased);
  own_keys text := 'key % of ' || replace(erased, '_', '\_') || ' in %';
begin
  insert into erasures (user_id, actor, counts) values (erased, by_actor, erases);
  perform set_config('dragoman.erasing', 'on', true);
  -- Reasons of bookings stay, as they do in the ledger.
  update audit set before = before - case when action like 'key.%' then named || '{reason}' else named end,
    after = after - case when action like 'key.%' then named || '{reason}' else named end,
    address = case when actor = any(own) then null else address end
  where subject = any(own) or actor = any(own) or before ->> 'user' = erased or after ->> 'user' = erased;
  -- Lines of applied files list keys by name.
  update audit set after = jsonb_set(after, '{changes}', (
    select jsonb_agg(case when change ->> 'object' like own_keys then jsonb_set(change, '{object}', to_jsonb('key of ' || erased)) else change end)
    from jsonb_array_elements(after -> 'changes') change))
  where subject = 'config' and after ->> 'changes' like '%"' || own_keys;
  perform set_config('dragoman.erasing', 'off', true);
  update keys set revoked_at = coalesce(revoked_at, now()), capture_until = null, name = id, hint = '', allowed_addresses = null
    where user_id = erased;
  delete from people where user_id = erased and role = 'user';
  update people set user_id = null where user_id = erased;
  delete from notices where user_id = erased;
  delete from warning_rules where user_id = erased;
  delete from warning_destinations where user_id = erased;
  update users set email = null, max_keys = 0, erased_at = now() where id = erased;
end $$;

-- Messages of providers may quote a request, and callers choose names of fields. Erases the next lines of the log, and returns the last one.
create function erase_log(erased text, after_at timestamptz, after_id text, batch int, out last_at timestamptz, out last_id text)
language sql as $$
  with lines as materialized (
    select at, id from requests where user_id = erased and (at, id) > (after_at, after_id) order by at, id limit batch),
  cleared as (
    update requests r set message = null, attempts = null, dropped = null, changed = null, session = null
    from lines l where r.at = l.at and r.id = l.id and num_nonnulls(r.message, r.attempts, r.dropped, r.changed, r.session) > 0),
  faults as (
    update request_faults f set words = null, provider_request_id = null
    from lines l where f.at = l.at and f.request_id = l.id and num_nonnulls(f.words, f.provider_request_id) > 0)
  select at, id from lines order by at desc, id desc limit 1
$$;

-- What there is to erase; counted up to 100,000 of each.
create function erasure_counts(erased text, out keys int, out people int, out warnings int, out destinations int, out tasks int,
  out assets int, out asset_groups int, out authorizations int, out responses int, out captures int, out callbacks int, out calls int)
language sql stable as $$
  select
    (select count(*) from (select from keys where user_id = erased limit 100000) n),
    (select count(*) from (select from people where user_id = erased and role = 'user' limit 100000) n),
    (select count(*) from (select from warning_rules where user_id = erased limit 100000) n),
    (select count(*) from (select from warning_destinations where user_id = erased limit 100000) n),
    (select count(*) from (select from video_tasks where user_id = erased limit 100000) n),
    (select count(*) from (select from assets where user_id = erased limit 100000) n),
    (select count(*) from (select from asset_groups where user_id = erased limit 100000) n),
    (select count(*) from (select from authorization_sessions where user_id = erased limit 100000) n),
    (select count(*) from (select from stored_responses where user_id = erased limit 100000) n),
    (select count(*) from (select from captures where user_id = erased limit 100000) n),
    (select count(*) from (select from callback_events where user_id = erased limit 100000) n),
    (select count(*) from (select from requests where user_id = erased limit 100000) n)
$$;

-- What has to end, or to be deleted at its provider, before an erasure is over. Money first: holds are settled or released as tasks end.
create function erasure_waits(erased text, out tasks int, out holds int, out authorizations int, out assets int, out asset_groups int,
  out responses int) language sql stable as $$
  select
    (select count(*) from (select from video_tasks where user_id = erased and finished_at is null limit 100000) n),
    (select count(*) from (select from holds where user_id = erased and state in ('held', 'review') limit 100000) n),
    (select count(*) from (select from authorization_sessions where user_id = erased and status in ('pending', 'verifying')
      and expires_at > now() limit 100000) n),
    (select count(*) from (select from assets where user_id = erased limit 100000) n),
    (select count(*) from (select from asset_groups where user_id = erased limit 100000) n),
    (select count(*) from (select from stored_responses where user_id = erased and account_id is not null and sealed is null limit 100000) n)
$$;

-- Deletes at most so many rows of each table that have ended; returns whether there may be more. Rows with objects at providers are not among them.
create function erase_rows(erased text, batch int) returns boolean language plpgsql as $$
declare
  one text[];
  deleted int;
  more boolean := false;
begin
  foreach one slice 1 in array array[
    ['captures', 'true'],
    ['stored_responses', '(sealed is not null or account_id is null)'],
    ['stored_bytes', 'bytes = 0'],
    ['background_responses', 'state in (''settled'', ''released'')'],
    ['callback_events', 'true'],
    ['callback_attempts', 'true'],
    ['callback_circuits', 'true'],
    ['idempotency_records', 'finished_at is not null'],
    ['authorization_sessions', '(status not in (''pending'', ''verifying'') or expires_at <= now())'],
    ['asset_accounts', 'true']
  ] loop
    execute format('delete from %1$I where ctid = any(array(
      select ctid from %1$I where user_id = $1 and %2$s limit $2 for update skip locked))', one[1], one[2]) using erased, batch;
    get diagnostics deleted = row_count;
    more := more or deleted = batch;
  end loop;
  return more;
end $$;
