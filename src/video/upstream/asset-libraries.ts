/** The asset library of each account, by its adapter. */
import type { Account, Catalog } from '../../catalog/index.ts';
import type { Clock } from '../../core/index.ts';
import type { VideoAdapter } from '../../rules/index.ts';
import type { UpstreamClient } from '../../upstream/index.ts';
import { AssetClient } from './asset-client.ts';
import type { AssetProvider } from './asset-provider.ts';
import { DragomanAssets } from './dragoman-assets.ts';

export interface LibraryOptions {
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  readonly catalog: () => Catalog;
}

/** An asset provider that hands every call to the library of the account. */
export function assetLibraries({ upstream, clock, catalog }: LibraryOptions): AssetProvider {
  const libraries: Readonly<Record<VideoAdapter, AssetProvider>> = {
    ark: new AssetClient(upstream, clock),
    dragoman: new DragomanAssets(upstream, catalog),
  };
  const libraryOf = ({ adapter }: Account): AssetProvider => libraries[adapter];
  return {
    createGroup: (account, group) => libraryOf(account).createGroup(account, group),
    findGroups: (account, name) => libraryOf(account).findGroups(account, name),
    getGroup: (account, id) => libraryOf(account).getGroup(account, id),
    deleteGroup: (account, id) => libraryOf(account).deleteGroup(account, id),
    createAsset: (account, asset) => libraryOf(account).createAsset(account, asset),
    getAsset: (account, id) => libraryOf(account).getAsset(account, id),
    findAssets: (account, group, name) => libraryOf(account).findAssets(account, group, name),
    deleteAsset: (account, id) => libraryOf(account).deleteAsset(account, id),
    startValidation: (account, callbackUrl) => libraryOf(account).startValidation(account, callbackUrl),
    getValidation: (account, token) => libraryOf(account).getValidation(account, token),
  };
}
