-- References to items are also checked for responses that a provider holds, whose rows have no content.

drop index stored_responses_items;
create index stored_responses_items on stored_responses using gin (item_ids);
