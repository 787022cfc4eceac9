-- runs with: 0.2.0
-- Null: the account takes as many calls at once as its provider does. What is stored stays. In 0.2.0 an account with null takes no calls.
alter table accounts alter column max_concurrency drop not null;
