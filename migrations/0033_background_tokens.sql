-- The estimate of a background response without a report counts the tokens of its request, not the bytes of its body.
alter table background_responses rename column input_bytes to input_tokens;
update background_responses set input_tokens = (input_tokens + 3) / 4;
