-- Models that are served without a price on purpose. A model that is neither free nor priced is rejected.

alter table models add column free boolean not null default false;
