/** The operations on private assets and asset groups (V 4.8, V 4.9). None of them moves money. */
import type { Key } from '../../access/keys/index.ts';
import { fail } from '../../core/index.ts';
import { reachableGroups } from '../service-groups.ts';
import type { VideoServices } from '../services.ts';
import { createAsset } from './create-asset.ts';
import { createGroup } from './create-group.ts';
import { type AssetCreateInput, KINDS } from './creation.ts';
import { deleteRow } from './delete.ts';
import { refreshAsset } from './refresh.ts';
import {
  type AssetGroupRow,
  type AssetRow,
  findRow,
  type ListFilter,
  type ListPage,
  listRows,
  type RowOf,
  type Table,
} from './rows.ts';
import { assetGroupView, assetView } from './view.ts';

export interface Assets {
  createGroup(key: Key, input: AssetCreateInput): Promise<AssetGroupRow>;
  createAsset(key: Key, input: AssetCreateInput): Promise<AssetRow>;
  /** Throws `asset_not_found` or `asset_group_not_found`, alike for missing and foreign ones. */
  get<T extends Table>(key: Key, table: T, id: string): Promise<RowOf[T]>;
  /** One page, newest first; one row more than the limit says that there are further ones. */
  list<T extends Table>(key: Key, table: T, filter: ListFilter, page: ListPage): Promise<readonly RowOf[T][]>;
  /** The same for a person of the user, who needs no key and no service group. */
  listOwn<T extends Table>(userId: string, table: T, filter: ListFilter, page: ListPage): Promise<readonly RowOf[T][]>;
  refresh(key: Key, id: string): Promise<AssetRow>;
  delete<T extends Table>(key: Key, table: T, id: string): Promise<RowOf[T]>;
  view<T extends Table>(table: T, row: RowOf[T]): object;
}

export function createAssets(services: VideoServices): Assets {
  const { db, catalog } = services;
  const find = async <T extends Table>(key: Key, table: T, id: string): Promise<RowOf[T]> => {
    const row = await findRow(db, table, key.userId, id);
    if (!row) throw fail(KINDS[table].missing);
    return row;
  };
  const listOwn: Assets['listOwn'] = async (userId, table, filter, page) => {
    const { after } = page;
    if (after !== undefined && !(await findRow(db, table, userId, after)))
      throw fail('invalid_request', `after: "${after.slice(0, 80)}" is not an id of this list.`, { param: 'after' });
    return listRows(db, table, userId, filter, page);
  };
  return {
    createGroup: (key, input) => createGroup(services, key, input),
    createAsset: (key, input) => createAsset(services, key, input),
    get: find,
    list: async (key, table, filter, page) => {
      reachableGroups(catalog(), key);
      return listOwn(key.userId, table, filter, page);
    },
    listOwn,
    refresh: async (key, id) => {
      reachableGroups(catalog(), key);
      return refreshAsset(services, await find(key, 'assets', id));
    },
    delete: async (key, table, id) => {
      reachableGroups(catalog(), key);
      return deleteRow(services, table, await find(key, table, id));
    },
    view: (table, row) =>
      table === 'assets' ? assetView(catalog(), row as AssetRow) : assetGroupView(catalog(), row as AssetGroupRow),
  };
}
