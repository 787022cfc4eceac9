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
  const of = ({ adapter }: Account): AssetProvider => libraries[adapter];
  return {
    createGroup: (account, group) => of(account).createGroup(account, group),
    findGroups: (account, name) => of(account).findGroups(account, name),
    getGroup: (account, id) => of(account).getGroup(account, id),
    deleteGroup: (account, id) => of(account).deleteGroup(account, id),
    createAsset: (account, asset) => of(account).createAsset(account, asset),
    getAsset: (account, id) => of(account).getAsset(account, id),
    findAssets: (account, group, name) => of(account).findAssets(account, group, name),
    deleteAsset: (account, id) => of(account).deleteAsset(account, id),
    startValidation: (account, callbackUrl) => of(account).startValidation(account, callbackUrl),
    getValidation: (account, token) => of(account).getValidation(account, token),
  };
}
