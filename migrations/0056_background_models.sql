-- Models that a background response names beside its own, with the price of each at the time of the request. The provider's report says what
-- each of them used.
alter table background_responses add column others jsonb not null default '[]';
