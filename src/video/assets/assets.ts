/** The operations on private assets and asset groups (V 4.8, V 4.9). None of them moves money. */
import type { Key } from '../../access/keys/index.ts';
import { type Catalog, publicMessage } from '../../catalog/index.ts';
import { fail, failAt, unixSeconds } from '../../core/index.ts';
import { ASSET_REFRESH_MS, VARIANT_SHEETS, type VideoVariant } from '../../rules/index.ts';
import { reachableGroups } from '../service-groups.ts';
import type { VideoServices } from '../services.ts';
import { type AssetError, assetErrorOf } from '../upstream/asset-errors.ts';
import { createAsset } from './create-asset.ts';
import { createGroup } from './create-group.ts';
import { type AssetCreateInput, KINDS } from './creation.ts';
import { deleteRow } from './delete.ts';
import { checkAsset } from './refresh.ts';
import * as rows from './rows.ts';

export function createAssets(services: VideoServices) {
  const { db, catalog } = services;
  /** Throws `asset_not_found` or `asset_group_not_found`, alike for missing and foreign ones. */
  const find = async <T extends rows.Table>(key: Key, table: T, id: string): Promise<rows.RowOf[T]> => {
    const row = await rows.findRow(db, table, key.userId, id);
    if (!row) throw fail(KINDS[table].missing);
    return row;
  };
  /** For a person of the user, who needs no key and no service group. */
  const listOwn = async <T extends rows.Table>(
    userId: string,
    table: T,
    filter: rows.ListFilter,
    page: rows.ListPage,
  ) => {
    const { after } = page;
    if (after !== undefined && !(await rows.findRow(db, table, userId, after)))
      throw failAt('invalid_request', 'after', `"${after.slice(0, 80)}" is not an id of this list.`);
    return rows.listRows(db, table, userId, filter, page);
  };
  return {
    create: (table: rows.Table, key: Key, input: AssetCreateInput): Promise<rows.AssetRow | rows.AssetGroupRow> =>
      table === 'assets' ? createAsset(services, key, input) : createGroup(services, key, input),
    get: find,
    async list<T extends rows.Table>(key: Key, table: T, filter: rows.ListFilter, page: rows.ListPage) {
      reachableGroups(catalog(), key);
      return listOwn(key.userId, table, filter, page);
    },
    listOwn,
    async refresh(key: Key, id: string): Promise<rows.AssetRow> {
      reachableGroups(catalog(), key);
      return checkAsset(services, await find(key, 'assets', id), ASSET_REFRESH_MS);
    },
    async delete<T extends rows.Table>(key: Key, table: T, id: string): Promise<rows.RowOf[T]> {
      reachableGroups(catalog(), key);
      return deleteRow(services, table, await find(key, table, id));
    },
    view: <T extends rows.Table>(table: T, row: rows.RowOf[T]): object =>
      table === 'assets'
        ? assetView(catalog(), row as rows.AssetRow)
        : assetGroupView(catalog(), row as rows.AssetGroupRow),
  };
}

/** Assets and groups as callers see them (V 2). Neither contains the address of the file, or an id of the provider. */
const assetGroupView = (catalog: Catalog, group: rows.AssetGroupRow): object => ({
  id: group.id,
  object: 'asset_group',
  name: group.name,
  description: group.description,
  group_type: group.group_type,
  status: group.status,
  ...commonOf(catalog, group),
});

const assetView = (catalog: Catalog, asset: rows.AssetRow): object => ({
  id: asset.id,
  object: 'asset',
  name: asset.name,
  asset_type: asset.asset_type,
  status: asset.status,
  ...(VARIANT_SHEETS[asset.variant as VideoVariant].assets.hasGroups && { group_id: asset.asset_group_id }),
  ...(FAILED.has(asset.status) && { error: errorOf(catalog, asset) }),
  ...commonOf(catalog, asset),
});

const FAILED: ReadonlySet<string> = new Set(['failed', 'invalid']);

/** Without its account the provider's message cannot be cleared of secrets. */
function errorOf(catalog: Catalog, { group_id, account_id, failure }: rows.AssetRow): AssetError {
  const account = catalog.account(account_id, group_id);
  const { code, message } = assetErrorOf(failure ?? '');
  return account ? { code, message: publicMessage(message, { account }) } : assetErrorOf(`${code}: `);
}

/** The name is the current one of the service group; one that is not configured any more shows its id. */
const commonOf = (catalog: Catalog, { group_id, created_at, updated_at }: rows.AssetRow | rows.AssetGroupRow) => ({
  route_group_id: group_id,
  route_group_name: catalog.group(group_id)?.name ?? group_id,
  created_at: unixSeconds(created_at),
  updated_at: unixSeconds(updated_at),
});
