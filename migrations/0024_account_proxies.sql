-- The outbound proxy of an account: `none`, or scheme, host and port for operators with the whole URL sealed. Null follows the environment.

alter table accounts
  add column proxy text,
  add column proxy_sealed text,
  add constraint accounts_proxy check ((proxy_sealed is not null) = (proxy is not null and proxy <> 'none'));
