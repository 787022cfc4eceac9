-- Calls come in the order of time. In an index that falls with it, every page splits in its middle: twice the write-ahead log, and pages that stay
-- half empty. A rising index is read backwards as fast.
create index usage_records_by_user on usage_records (user_id, at);
drop index usage_records_of_user;
alter index usage_records_by_user rename to usage_records_of_user;
create index usage_records_by_model on usage_records (model, at);
drop index usage_records_of_model;
alter index usage_records_by_model rename to usage_records_of_model;

-- Ids of calls begin with their time (`newRequestId`). A record within a minute of it is found by time, and only the others need an entry in
-- the index: those of longer calls, of tasks, and of earlier versions, whose ids were random.
create function is_within_minute(at timestamptz, request_id text) returns boolean language sql immutable parallel safe return
  request_id collate "C" >= 'req_' || lpad(to_hex(date_part('epoch', at - timestamptz '1970-01-01 00:00:00+00')::bigint * 1000 - 60000), 12, '0')
  and request_id collate "C" < 'req_' || lpad(to_hex(date_part('epoch', at - timestamptz '1970-01-01 00:00:00+00')::bigint * 1000 + 1000), 12, '0');
drop index usage_records_of_request;
create index usage_records_of_request on usage_records (request_id) where not is_within_minute(at, request_id);
