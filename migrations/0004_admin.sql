-- The operator's side of money: what calls cost the operator, who changed what, and what became of records that were set aside.

-- What the provider takes, in the form of `rates`. In the row of the price, so that a charge names both; null is not known.
alter table prices add column cost jsonb;
-- What this account pays of that, in parts per million: a discount, or the margin of a reseller.
alter table accounts add column cost_multiplier_ppm bigint not null default 1000000 check (cost_multiplier_ppm >= 0);

alter table usage_records add column cost_nanos bigint check (cost_nanos >= 0);
-- Support questions begin with a request id.
create index usage_records_of_request on usage_records (request_id);
-- The sum over the records whose cost is known, and how many there are of the others.
alter table usage_daily add column cost_nanos bigint not null default 0;
alter table usage_daily add column cost_unknown bigint not null default 0;
update usage_daily set cost_unknown = requests;

alter table usage_quarantine add column outcome text check (outcome in ('charged', 'dismissed'));
alter table usage_quarantine add column outcome_reason text;
alter table usage_quarantine add column resolved_at timestamptz;
alter table usage_quarantine add check ((outcome is null) = (resolved_at is null) and (outcome is null) = (outcome_reason is null));
create index usage_quarantine_open on usage_quarantine (created_at desc, id) where outcome is null;

-- Who changed what. Written in the transaction of the change itself; holds no secret.
create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  -- token: the admin API; cli: a command on the machine; file: a configuration that a start applied.
  actor text not null check (actor in ('token', 'cli', 'file')),
  action text not null,
  subject text not null,
  before jsonb,
  after jsonb,
  request_id text,
  address text
);
create index audit_of_subject on audit (subject, id desc);

create or replace function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger audit_stays before update or delete on audit for each row execute function refuse_change();
create trigger audit_stays_all before truncate on audit for each statement execute function refuse_change();
