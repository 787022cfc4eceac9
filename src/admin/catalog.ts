/** What is configured, as lists: groups, accounts, models, prices, characters. Never a credential, nor what seals one. */
import { type RawBuilder, sql } from 'kysely';
import { formatNanos } from '../core/index.ts';
import { snapshot } from '../db/index.ts';
import type { AdminCall, AdminHandler, AdminServices } from './handler.ts';
import { sendPage } from './pagination.ts';

export const factorText = (ppm: bigint): string => formatNanos(ppm * 1000n);

/** In the order of the configuration, which decides which model matches first. */
async function sendInOrder<T extends { position: number; id: string | bigint }>(
  { call, query }: AdminCall,
  { db }: AdminServices,
  select: RawBuilder<T>,
  view: (row: T) => object,
): Promise<void> {
  const [position, id] = query.cursor(2) ?? [];
  const { limit } = query;
  const group = query.text('group');
  const filters = [
    ...(position === undefined ? [] : [sql`and (position, id::text) > (${whole(position)}, ${id})`]),
    ...(group === undefined ? [] : [sql`and group_id = ${group}`]),
  ];
  const page = sql<T>`
    select * from (${select}) own where true ${sql.join(filters, sql` `)} order by position, id::text limit ${limit + 1}`;
  const { rows } = await snapshot(db, (tx) => page.execute(tx));
  sendPage(call, rows, limit, { view, key: (row) => [row.position, row.id] });
}

const whole = (text: string): number => (/^\d{1,9}$/.test(text) ? Number(text) : 0);

interface GroupRow {
  readonly id: string;
  readonly style: string;
  readonly variant: string | null;
  readonly name: string;
  readonly multiplier_ppm: bigint;
  readonly position: number;
  readonly created_at: Date;
}

export const listGroups: AdminHandler = (given, parts) =>
  sendInOrder(given, parts, sql<GroupRow>`select * from groups`, ({ multiplier_ppm, ...row }) => ({
    ...row,
    multiplier: factorText(multiplier_ppm),
  }));

interface AccountRow {
  readonly id: string;
  readonly group_id: string;
  readonly base_url: string;
  readonly weight: number;
  readonly priority: number;
  readonly max_concurrency: number;
  readonly cost_multiplier_ppm: bigint;
  readonly features: string[];
  readonly models: unknown;
  readonly result_hosts: string[];
  readonly assets: { readonly base_url?: string; readonly region?: string; readonly project?: string } | null;
  readonly position: number;
  readonly created_at: Date;
}

/** Columns by name: one that is added later is a secret until somebody has thought about it. */
export const listAccounts: AdminHandler = (given, parts) =>
  sendInOrder(
    given,
    parts,
    sql<AccountRow>`
      select id, group_id, base_url, weight, priority, max_concurrency, cost_multiplier_ppm, features, models, result_hosts, assets,
        position, created_at from accounts`,
    ({ group_id, base_url, cost_multiplier_ppm, assets, ...row }) => ({
      ...row,
      group: group_id,
      base_url: withoutUser(base_url),
      cost_multiplier: factorText(cost_multiplier_ppm),
      assets: assets && { base_url: withoutUser(assets.base_url), region: assets.region, project: assets.project },
    }),
  );

/** An address may carry a name and a password, or a token behind its question mark. */
function withoutUser(address = ''): string {
  const url = URL.parse(address);
  if (!url) return '';
  url.username = '';
  url.password = '';
  url.search = '';
  return url.href;
}

interface ModelRow {
  readonly id: bigint;
  readonly group_id: string;
  readonly pattern: string;
  readonly upstream: string | null;
  readonly capabilities: unknown;
  readonly context: number | null;
  readonly max_output: number | null;
  readonly position: number;
  readonly created_at: Date;
  readonly price_id: bigint | null;
  readonly rates: unknown;
  readonly cost: unknown;
}

export const listCatalogModels: AdminHandler = (given, parts) =>
  sendInOrder(
    given,
    parts,
    sql<ModelRow>`
      select m.id, m.group_id, m.pattern, m.upstream, m.capabilities, m.context, m.max_output, m.position, m.created_at,
        p.id as price_id, p.rates, p.cost
      from models m left join lateral (
        select id, rates, cost from prices where model_id = m.id and valid_from <= now() order by valid_from desc, id desc limit 1) p on true`,
    ({ id, group_id, pattern, position, price_id, rates, ...row }) => ({
      id: pattern,
      group: group_id,
      ...row,
      position,
      price: price_id === null ? null : String(price_id),
      prices: rates,
    }),
  );

export const listPrices: AdminHandler = async ({ call, query }, { db }) => {
  const { limit } = query;
  const [group, model, before] = [query.text('group'), query.text('model'), query.idCursor()];
  const rows = await snapshot(db, (tx) => {
    let find = tx
      .selectFrom('prices')
      .selectAll()
      .orderBy('id', 'desc')
      .limit(limit + 1);
    if (group !== undefined) find = find.where('model_group', '=', group);
    if (model !== undefined) find = find.where('model_pattern', '=', model);
    if (before !== undefined) find = find.where('id', '<', before);
    return find.execute();
  });
  sendPage(call, rows, limit, {
    key: ({ id }) => [id],
    view: (row) => ({
      id: String(row.id),
      model: row.model_pattern,
      group: row.model_group,
      // Its model may have been removed since; charges still name the price.
      removed: row.model_id === null,
      valid_from: row.valid_from,
      prices: row.rates,
      cost: row.cost,
    }),
  });
};

interface CharacterRow {
  readonly id: string;
  readonly group_id: string;
  readonly position: number;
  readonly [column: string]: unknown;
}

export const listCharacters: AdminHandler = (given, parts) =>
  sendInOrder(
    given,
    parts,
    sql<CharacterRow>`
      select id, public_id, group_id, models, upstream_asset, name, tags, gender, age_group, nationality, preview_url, position, created_at
      from characters`,
    ({ group_id, ...row }) => ({ ...row, group: group_id }),
  );
