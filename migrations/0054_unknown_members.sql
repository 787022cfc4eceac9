-- What happens to a request with a member that no table knows: `bound` counts it as the most that the model can cost, `reject` refuses it.
alter table groups add column unknown_members text not null default 'bound';
