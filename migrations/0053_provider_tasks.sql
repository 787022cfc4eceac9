-- Which task has a task of the provider: at most one, over all accounts, groups and replicas with the same address and credential.
create table provider_tasks (
  -- HMAC of address and credential under a secret of the installation. Tasks of earlier versions have no row: they are found by their account.
  provider bytea not null,
  upstream_id text not null,
  user_id text not null,
  task_id text not null,
  primary key (provider, upstream_id),
  foreign key (user_id, task_id) references video_tasks (user_id, id) on delete cascade on update cascade
);
create index provider_tasks_of_task on provider_tasks (user_id, task_id);
