-- Cooldowns of accounts, as each replica sees them. Written for operators only: replicas do not read them.

create table account_cooldowns (
  replica_id text not null,
  account_id text not null,
  -- Empty for a cooldown of the whole account.
  operation text not null,
  model text not null,
  -- A kind of fault.
  reason text not null,
  -- The provider's own code of the last fault that set the end.
  provider_code text,
  faults integer not null,
  since timestamptz not null,
  until timestamptz not null,
  primary key (replica_id, account_id, operation, model)
);
create index account_cooldowns_account on account_cooldowns (account_id);
