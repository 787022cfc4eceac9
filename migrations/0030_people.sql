-- People who sign in to the console: operators, and the people of users. Replaces a table that nothing reads.
drop table admins;

create table people (
  id text primary key,
  -- In lower case.
  email text not null unique,
  name text not null,
  role text not null check (role in ('operator', 'user')),
  -- Whose wallet and keys the person sees. An operator may have one too, to try calls.
  user_id text references users,
  -- Null until a link is used, and for people who sign in with OpenID Connect only.
  password_hash text,
  -- Issuer and subject of OpenID Connect.
  oidc_subject text unique,
  -- Created by a rule of OIDC_OPERATORS, which must still match at every sign-in.
  oidc_rule boolean not null default false,
  disabled_at timestamptz,
  signed_in_at timestamptz,
  created_at timestamptz not null default now(),
  check (role = 'operator' or user_id is not null)
);
create index people_of_user on people (user_id);

-- Session tokens have 256 random bits, so that a plain hash of them opens nothing.
create table person_sessions (
  token_hash bytea primary key,
  person_id text not null references people on delete cascade,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  expires_at timestamptz not null
);
create index person_sessions_of_person on person_sessions (person_id);
create index person_sessions_expired on person_sessions (expires_at);

-- One-time links, at most one for each person. That of the first operator names no person.
create table person_links (
  token_hash bytea primary key,
  person_id text references people on delete cascade,
  purpose text not null check (purpose in ('first', 'invite', 'reset')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  unique nulls not distinct (person_id),
  check ((purpose = 'first') = (person_id is null))
);
create index person_links_expired on person_links (expires_at);

-- Changes in the console: `person:<id>`.
alter table audit drop constraint audit_actor_check;
alter table audit add constraint audit_actor_check check (actor in ('token', 'cli', 'file') or actor like 'person:%');
create index audit_of_actor on audit (actor, id desc);

-- What the people of a user may do with keys in the console. Null groups: every group.
alter table users add column max_keys integer not null default 0 check (max_keys between 0 and 1000);
alter table users add column key_groups text[];
-- Made in the console by a person of its user, who may then change it.
alter table keys add column is_own boolean not null default false;
