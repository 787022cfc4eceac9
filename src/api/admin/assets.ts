/** Private assets of all users for operators: which are usable, and on which account they live. Never shows the URL of a caller. */
import { sql } from 'kysely';
import { z } from 'zod';
import { type Row, snapshot } from '../../platform/db/index.ts';
import { ASSET_STATUSES } from '../../rules/index.ts';
import type { OperatorAsset } from '../../schemas/index.ts';
import { operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param } from './query-params.ts';

const AssetsQuery = z.strictObject({
  user: param.user,
  group: param.group,
  account: param.account,
  status: z
    .enum(ASSET_STATUSES)
    .describe(`of assets: ${ASSET_STATUSES.map((status) => `\`${status}\``).join(', ')}; all by default`)
    .optional(),
  ...pageParams(rowKey.timeAndId),
});

type AssetRow = Row<'assets'> & { readonly created: string };

export const listOperatorAssets = operation({
  query: AssetsQuery,
  async handle({ call, query: { user, group, account, status, limit, cursor } }, { db }) {
    const columns = { user_id: user, group_id: group, account_id: account, status };
    const conditions = [
      sql`deleted_at is null`,
      ...Object.entries(columns).flatMap(([name, value]) =>
        value === undefined ? [] : [sql`${sql.ref(name)} = ${value}`],
      ),
      ...(cursor ? [sql`(created_at, id) < (${cursor[0]}::timestamptz, ${cursor[1]})`] : []),
    ];
    const page = sql<AssetRow>`
      select id, user_id, name, asset_type, status, asset_group_id, group_id, account_id, failure, created_at, updated_at,
        to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created
      from assets where ${sql.join(conditions, sql` and `)} order by created_at desc, id desc limit ${limit + 1}`;
    const { rows } = await snapshot(db, (tx) => page.execute(tx));
    sendPage(call, rows, {
      limit,
      key: (row) => [row.created, row.id],
      view: (row): OperatorAsset => ({
        id: row.id,
        user: row.user_id,
        name: row.name,
        asset_type: row.asset_type as OperatorAsset['asset_type'],
        status: row.status as OperatorAsset['status'],
        group_id: row.asset_group_id,
        route_group_name: row.group_id,
        account: row.account_id,
        failure: row.failure,
        created_at: row.created_at.toISOString(),
        updated_at: row.updated_at.toISOString(),
      }),
    });
  },
});
