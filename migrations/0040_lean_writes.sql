-- Each entry of an index costs every call a hundred bytes of the write-ahead log. What remains finds calls by time, user, model and account, and
-- failed ones by status and side; usage records by time, user, model and request. Keys are found among the rows of their user. Groups and
-- operations are found by time, which soon meets what most calls share. The ids of requests begin with their time.
drop index requests_of_id;
drop index requests_of_key;
drop index requests_of_group;
drop index requests_of_operation;
drop index usage_records_of_key;

-- Rows of these tables are updated every second: with room on their page, an update adds nothing to the indexes.
alter table usage_daily set (fillfactor = 60);
alter table leases set (fillfactor = 60);
alter table wallets set (fillfactor = 60);
