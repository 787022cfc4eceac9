/** Lists of configured objects: groups, models, prices, characters. Accounts are in accounts.ts. */
import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { type Row, snapshot } from '../../platform/db/index.ts';
import { CHARACTER_COLUMNS, membersOf, type ShownPrice } from '../../schemas/index.ts';
import { operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param } from './query-params.ts';

const AllQuery = z.strictObject(pageParams(rowKey.positionAndId));
export const GroupQuery = z.strictObject({ group: param.group, ...pageParams(rowKey.positionAndId) });

interface OrderedList<T> {
  readonly query: typeof AllQuery | typeof GroupQuery;
  readonly select: RawBuilder<T>;
  readonly view: (row: T) => object;
}

/** A list in the order of the configuration, which decides which model matches first. */
export const orderedList = <T extends { position: number; id: string | bigint }>({
  query,
  select,
  view,
}: OrderedList<T>) =>
  operation({
    query,
    async handle({ call, query }, { db }) {
      const { limit, cursor } = query;
      const group = 'group' in query ? query.group : undefined;
      const filters = [
        ...(cursor === undefined ? [] : [sql`and (position, id::text) > (${cursor[0]}, ${cursor[1]})`]),
        ...(group === undefined ? [] : [sql`and group_id = ${group}`]),
      ];
      const page = sql<T>`
        select * from (${select}) own where true ${sql.join(filters, sql` `)}
        order by position, id::text limit ${limit + 1}`;
      const { rows } = await snapshot(db, (tx) => page.execute(tx));
      sendPage(call, rows, { limit, view, key: (row) => [row.position, row.id] });
    },
  });

export const listGroups = orderedList({
  query: AllQuery,
  select: sql<Row<'groups'>>`select * from groups`,
  view: membersOf,
});

interface ModelRow extends Row<'models'> {
  readonly price_id: bigint | null;
  readonly rates: unknown;
  readonly cost: unknown;
}

export const listCatalogModels = orderedList({
  query: GroupQuery,
  select: sql<ModelRow>`
    select m.id, m.group_id, m.pattern, m.upstream, m.capabilities, m.context, m.max_output, m.fallback, m.free, m.position, m.created_at,
      p.id as price_id, p.rates, p.cost
    from models m left join lateral (
      select id, rates, cost from prices where model_id = m.id and valid_from <= now() order by valid_from desc, id desc limit 1) p on true`,
  view: ({ id: _, pattern, price_id, rates, ...row }) => ({
    id: pattern,
    ...membersOf(row),
    price: price_id === null ? null : String(price_id),
    prices: rates,
  }),
});

/** The audit line that `savePrice` wrote with the price. */
const SET_BY = sql<ShownPrice['set_by']>`
  (select jsonb_build_object('actor', a.actor, 'name', p.name, 'audit', a.id::text)
    from audit a left join people p on a.actor = 'person:' || p.id
    where a.subject = 'model:' || model_group || '/' || model_pattern and a.action = 'price.changed'
      and a.after ->> 'price' = prices.id::text
    order by a.id desc limit 1)`;

const PricesQuery = z.strictObject({ group: param.group, model: param.model, ...pageParams(rowKey.id) });

export const listPrices = operation({
  query: PricesQuery,
  async handle({ call, query: { group, model, limit, cursor } }, { db }) {
    const rows = await snapshot(db, (tx) => {
      let find = tx
        .selectFrom('prices')
        .selectAll()
        .select(SET_BY.as('set_by'))
        .orderBy('id', 'desc')
        .limit(limit + 1);
      if (group !== undefined) find = find.where('model_group', '=', group);
      if (model !== undefined) find = find.where('model_pattern', '=', model);
      if (cursor) find = find.where('id', '<', cursor[0]);
      return find.execute();
    });
    sendPage(call, rows, {
      limit,
      key: ({ id }) => [id],
      view: (row) => ({
        id: String(row.id),
        model: row.model_pattern,
        group: row.model_group,
        // A price outlives its model, because charges refer to it.
        removed: row.model_id === null,
        valid_from: row.valid_from,
        prices: row.rates,
        cost: row.cost,
        set_by: row.set_by,
      }),
    });
  },
});

export type ManagedRow = Omit<Row<'characters'>, 'preview'>;
export const CHARACTERS = sql<ManagedRow>`
  select ${sql.join(CHARACTER_COLUMNS.map((name) => sql.ref(name)))} from characters`;

export const listCharacters = orderedList({ query: GroupQuery, select: CHARACTERS, view: membersOf });
