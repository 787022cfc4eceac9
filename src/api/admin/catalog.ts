/** Lists of configured objects: groups, models, prices, characters. Accounts are in accounts.ts. */
import { sql } from 'kysely';
import type { Row } from '../../platform/db/index.ts';
import { CHARACTER_COLUMNS, membersOf, ShownPrice, shownRow } from '../../schemas/index.ts';
import { listOperation } from './list.ts';
import { param } from './query-params.ts';

/** Lists in the order of the configuration, which decides which model matches first. */
export const BY_GROUP = { order: 'position', filters: { group: param.group } } as const;

interface ModelRow extends Omit<Row<'models'>, 'id'> {
  readonly id: string;
  readonly price_id: bigint | null;
  readonly rates: unknown;
  readonly cost: unknown;
}

/** The audit line that `savePrice` wrote with the price. */
const SET_BY = sql<ShownPrice['set_by']>`
  (select jsonb_build_object('actor', a.actor, 'name', p.name, 'audit', a.id::text)
    from audit a left join people p on a.actor = 'person:' || p.id
    where a.subject = 'model:' || model_group || '/' || model_pattern and a.action = 'price.changed'
      and a.after ->> 'price' = prices.id::text
    order by a.id desc limit 1)`;

export type ManagedRow = Omit<Row<'characters'>, 'preview'>;
export const CHARACTERS = sql<ManagedRow>`
  select ${sql.join(CHARACTER_COLUMNS.map((name) => sql.ref(name)))} from characters`;

export const CATALOG_OPERATIONS = {
  'admin.groups': listOperation({
    order: 'position',
    from: sql<Row<'groups'>>`select * from groups`,
    view: membersOf,
  }),
  'admin.models': listOperation({
    order: 'position',
    filters: { ...BY_GROUP.filters, part: param.text },
    from: sql<ModelRow>`
    select m.id::text as id, m.group_id, m.pattern, m.upstream, m.capabilities, m.learned, m.context, m.max_output, m.fallback, m.free, m.position, m.created_at,
      p.id as price_id, p.rates, p.cost
    from models m left join lateral (
      select id, rates, cost from prices where model_id = m.id and valid_from <= now() order by valid_from desc, id desc limit 1) p on true`,
    view: ({ id: _, pattern, price_id, rates, ...row }) => ({
      id: pattern,
      ...membersOf(row),
      price: price_id === null ? null : String(price_id),
      prices: rates,
    }),
  }),
  'admin.prices': listOperation({
    filters: { group: param.group, model: param.model },
    order: 'number',
    from: sql<Row<'prices'>>`
    select *, model_group as group_id, model_pattern as model, rates as prices, ${SET_BY} as set_by from prices`,
    // A price outlives its model, because charges refer to it.
    view: (row) => shownRow(ShownPrice, row, { removed: row.model_id === null }),
  }),
  'admin.characters': listOperation({ ...BY_GROUP, from: CHARACTERS, view: membersOf }),
};
