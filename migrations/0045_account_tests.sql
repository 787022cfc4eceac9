-- The outcome of the last test of an account by an operator, as long as its address, credential and proxy are those of the test.
create table account_tests (
  account_id text primary key references accounts on delete cascade,
  at timestamptz not null default now(),
  ok boolean not null,
  model text,
  status integer,
  -- The fault by which the test failed.
  reason text,
  provider_code text,
  message text
);
