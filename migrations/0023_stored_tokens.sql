-- What a response that continues a stored one reads: the provider's count of the stored one. Unknown for older rows.

alter table stored_responses add column tokens bigint;
