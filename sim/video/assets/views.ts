/** The JSON forms of groups and assets. */
import type { Asset } from './assets.ts';
import type { Group } from './groups.ts';

export function groupView(group: Group): object {
  return {
    Id: group.id,
    Name: group.name,
    Title: group.name,
    Description: group.description,
    GroupType: group.type,
    ProjectName: group.project,
    CreateTime: isoTime(group.createdAt),
    UpdateTime: isoTime(group.updatedAt),
  };
}

/** `url` is called only for an asset that has a file. */
export function assetView(asset: Asset, url: (asset: Asset) => string): object {
  return {
    Id: asset.id,
    Name: asset.name,
    ...(asset.status !== 'Failed' && { URL: url(asset) }),
    AssetType: asset.type,
    GroupId: asset.groupId,
    Status: asset.status,
    ...(asset.error && { Error: { Code: asset.error.code, Message: asset.error.message } }),
    Moderation: { Strategy: asset.moderation },
    ProjectName: asset.project,
    CreateTime: isoTime(asset.createdAt),
    UpdateTime: isoTime(asset.updatedAt),
  };
}

const isoTime = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+/, '');
