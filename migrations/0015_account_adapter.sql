-- The kind of upstream behind a video account: the provider itself, or another Dragoman.

alter table accounts add column adapter text not null default 'ark' check (adapter in ('ark', 'dragoman'));
