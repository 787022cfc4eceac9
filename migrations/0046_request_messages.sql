-- What a caller was told about a failed call, without text of the request; null for calls that did not fail.
-- Calls without a known key have an empty user, key and group. They are not in the roll-ups.
alter table requests add column message text;

-- Callers have the provider's id of a failed request, because native errors are forwarded as they are.
alter table request_faults add column provider_request_id text;
create index request_faults_of_provider_request on request_faults using hash (provider_request_id)
  where provider_request_id is not null;
