/** Assets and groups as callers see them (V 2). Neither contains the address of the file, or an id of the provider. */
import { type Catalog, publicMessage } from '../../catalog/index.ts';
import { unixSeconds } from '../../core/index.ts';
import { VARIANT_SHEETS, type VideoVariant } from '../../rules/index.ts';
import { type AssetError, assetErrorOf } from '../upstream/asset-errors.ts';
import type { AssetGroupRow, AssetRow } from './rows.ts';

export const assetGroupView = (catalog: Catalog, group: AssetGroupRow): object => ({
  id: group.id,
  object: 'asset_group',
  name: group.name,
  description: group.description,
  group_type: group.group_type,
  status: group.status,
  ...commonOf(catalog, group),
});

export const assetView = (catalog: Catalog, asset: AssetRow): object => ({
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
function errorOf(catalog: Catalog, { group_id, account_id, failure }: AssetRow): AssetError {
  const account = catalog.account(account_id, group_id);
  const { code, message } = assetErrorOf(failure ?? '');
  return account ? { code, message: publicMessage(message, { account }) } : assetErrorOf(`${code}: `);
}

/** The name is the current one of the service group; one that is not configured any more shows its id. */
const commonOf = (catalog: Catalog, { group_id, created_at, updated_at }: AssetRow | AssetGroupRow) => ({
  route_group_id: group_id,
  route_group_name: catalog.group(group_id)?.name ?? group_id,
  created_at: unixSeconds(created_at),
  updated_at: unixSeconds(updated_at),
});
