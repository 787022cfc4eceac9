-- Responses that a provider makes in the background (G 4.4): followed until they end and charged once, whether or not a client reads
-- them. The money is in a hold with the same reference. Nothing of the request or the response is kept.
create table background_responses (
  reference text primary key,
  user_id text not null references users on delete cascade,
  key_id text not null,
  group_id text not null,
  model text not null,
  request_id text not null,
  -- For an estimate, where the provider reports no usage.
  input_bytes bigint not null,
  -- The price at the time of the request; null for a free model.
  price_id bigint,
  -- The service tier that the request chose.
  tier text,
  -- Known once the provider has accepted the request.
  response_id text unique,
  account_id text,
  state text not null default 'sending' check (state in ('sending', 'running', 'settled', 'released')),
  -- Reads in a row that did not find the response.
  misses int not null default 0,
  created_at timestamptz not null default now(),
  -- The next read, or the removal of a row that has ended.
  next_check_at timestamptz not null,
  check (state <> 'running' or (response_id is not null and account_id is not null))
);
create index background_responses_due on background_responses (next_check_at);
