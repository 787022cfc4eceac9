-- The preview of an erasure counts what callers keep with us, too.
drop function erasure_counts(text);
create function erasure_counts(erased text, out keys int, out people int, out warnings int, out destinations int, out tasks int,
  out assets int, out asset_groups int, out authorizations int, out responses int, out captures int, out callbacks int, out calls int, out files int,
  out batches int, out conversations int)
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
    (select count(*) from (select from requests where user_id = erased limit 100000) n),
    (select count(*) from (select from files where user_id = erased limit 100000) n),
    (select count(*) from (select from batches where user_id = erased limit 100000) n),
    (select count(*) from (select from conversations where user_id = erased limit 100000) n)
$$;
