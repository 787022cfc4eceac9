-- Accounts at clouds: the kind, the way to sign in, and their settings. Null for the provider's own API.
alter table accounts add column cloud jsonb;
