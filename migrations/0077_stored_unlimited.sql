-- runs with: 0.2.0
-- The largest number instead of null: 0.2.0 gives an account with null no calls. The API, the console and the files say that there is no limit.
update accounts set max_concurrency = 2147483647 where max_concurrency is null;
alter table accounts alter column max_concurrency set default 2147483647, alter column max_concurrency set not null;
