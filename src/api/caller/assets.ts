/** Operations of document 2 on private assets and asset groups (V 4.8, V 4.9). What they are and do is in src/video. */
import { fail } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import { type Call, expectJson, readBody, sendJson } from '../../platform/web/index.ts';
import { BODY_BYTES, type OfferedVideoOperation, VIDEO_QUERIES } from '../../rules/index.ts';
import { type AssetTable, isAssetIdOf, readIdempotencyKey, type Video } from '../../video/index.ts';
import { sendList } from './list.ts';
import { readVideoQuery } from './query.ts';

interface AssetServices {
  readonly video: Pick<Video, 'assets'>;
}

type AssetOperation = Extract<OfferedVideoOperation, `assets.${string}` | `assetGroups.${string}`>;
type AssetHandler = (services: AssetServices, call: Call, caller: Caller) => Promise<void>;

export const ASSET_HANDLERS: Readonly<Record<AssetOperation, AssetHandler>> = {
  'assetGroups.create': createAssetGroup,
  'assetGroups.list': listAssetGroups,
  'assetGroups.get': readWith('asset_groups'),
  'assetGroups.delete': deleteWith('asset_groups'),
  'assets.create': createAsset,
  'assets.list': listAssets,
  'assets.get': readWith('assets'),
  'assets.refresh': refreshAsset,
  'assets.delete': deleteWith('assets'),
};

async function createAssetGroup({ video: { assets } }: AssetServices, call: Call, { key }: Caller): Promise<void> {
  const keyHash = readIdempotencyKey(call);
  expectJson(call);
  const group = await assets.createGroup(key, { bytes: await readBody(call, BODY_BYTES.small), keyHash });
  call.addLogFields({ asset_group: group.id });
  sendJson(call, 201, assets.view('asset_groups', group));
}

async function createAsset({ video: { assets } }: AssetServices, call: Call, { key }: Caller): Promise<void> {
  const keyHash = readIdempotencyKey(call);
  expectJson(call);
  const asset = await assets.createAsset(key, { bytes: await readBody(call, BODY_BYTES.small), keyHash });
  call.addLogFields({ asset: asset.id });
  // SDKs retry some statuses by themselves; an unconfirmed asset must not be created again.
  const headers: Record<string, string> = asset.status === 'create_unknown' ? { 'x-should-retry': 'false' } : {};
  sendJson(call, 202, assets.view('assets', asset), headers);
}

async function listAssetGroups({ video: { assets } }: AssetServices, call: Call, { key }: Caller): Promise<void> {
  const { limit, after, status, route_group_id } = readVideoQuery(call.query, VIDEO_QUERIES['assetGroups.list']);
  const filter = { statuses: status, groupId: route_group_id };
  const rows = await assets.list(key, 'asset_groups', filter, { after, limit });
  sendList(call, rows, { limit, view: (group) => assets.view('asset_groups', group), id: ({ id }) => id });
}

async function listAssets({ video: { assets } }: AssetServices, call: Call, { key }: Caller): Promise<void> {
  const query = readVideoQuery(call.query, VIDEO_QUERIES['assets.list']);
  const { limit, after } = query;
  const filter = {
    statuses: query.status,
    assetTypes: query.asset_type,
    assetGroupId: query.group_id,
    groupId: query.route_group_id,
  };
  const rows = await assets.list(key, 'assets', filter, { after, limit });
  sendList(call, rows, { limit, view: (asset) => assets.view('assets', asset), id: ({ id }) => id });
}

function readWith(table: AssetTable): AssetHandler {
  return async ({ video: { assets } }, call, { key }) => {
    const row = await assets.get(key, table, idIn(call, table));
    sendJson(call, 200, assets.view(table, row));
  };
}

function deleteWith(table: AssetTable): AssetHandler {
  return async ({ video: { assets } }, call, { key }) => {
    const row = await assets.delete(key, table, idIn(call, table));
    sendJson(call, 202, assets.view(table, row));
  };
}

async function refreshAsset({ video: { assets } }: AssetServices, call: Call, { key }: Caller): Promise<void> {
  readVideoQuery(call.query, {});
  const body = (await readBody(call, BODY_BYTES.small)).toString('latin1').trim();
  if (body !== '' && !/^\{\s*\}$/.test(body)) throw fail('invalid_request', 'A refresh takes no body; send none.');
  const asset = await assets.refresh(key, idIn(call, 'assets'));
  sendJson(call, 200, assets.view('assets', asset));
}

/** The id in the path, noted in the log line. Any other text there is the client's and not logged. */
function idIn(call: Call, table: AssetTable): string {
  const id = (table === 'assets' ? call.params.asset_id : call.params.group_id) ?? '';
  if (isAssetIdOf(table, id)) call.addLogFields(table === 'assets' ? { asset: id } : { asset_group: id });
  return id;
}
