-- What providers keep for callers, in the list of what they keep. The order of a list is that of an index of each part, as in 0070; this table has
-- several kinds, so that one more index begins with the kind.
create or replace view kept_objects as
  select 'file'::text as kind, user_id, key_id, id, name, bytes, null::text as account_id, null::text as state, created_at, expires_at,
    completed_at is not null as is_complete, null::bigint as tokens from files
  union all
  select 'batch', user_id, key_id, id, operation, case when state = 'running' then result_bytes end, null, state, created_at, kept_until, true, null
    from batches
  union all
  select 'conversation', user_id, null, id, null, bytes, null, null, created_at, expires_at, true, null from conversations
  union all
  select kind, user_id, key_id, id, coalesce(shown ->> 'displayName', nullif(model, '')), null, account_id, null, created_at, expires_at, true,
    nullif(tokens, 0) from provider_objects;
create index provider_objects_created on provider_objects (created_at desc, id desc);
create index provider_objects_created_of_kind on provider_objects (kind, created_at desc, id desc);
