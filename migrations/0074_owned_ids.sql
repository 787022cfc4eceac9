-- runs with: 0.2.0
-- Ids that providers make are the same for two users when a provider repeats them or two providers number alike: every key holds the owner.
alter table stored_responses drop constraint stored_responses_pkey, add primary key (user_id, id);
drop index stored_responses_of_user;
alter table background_responses drop constraint background_responses_response_id_key;
create index background_responses_of_user on background_responses (user_id, response_id);
