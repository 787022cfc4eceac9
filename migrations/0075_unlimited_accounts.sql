-- Null: the account takes as many calls at once as its provider does. What is stored stays.
alter table accounts alter column max_concurrency drop not null;
