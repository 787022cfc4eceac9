-- The kind of upstream behind a video account: the provider itself, or another Dragoman.

alter table accounts add column adapter text not null default 'ark' check (adapter in ('ark', 'dragoman'));

-- Tasks of an account that have no task of the upstream: an upstream that does not name users is searched for them by account.
create index video_tasks_unbound on video_tasks (account_id) where upstream_id is null;
