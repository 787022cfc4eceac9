-- A rotated key counts as spent what the keys before it have spent: the id of the first of them. Null: the key replaces no other.
alter table keys add column spend_id text;
