/** The asset library of each account, by its adapter. */
import type { Catalog } from '../../catalog/index.ts';
import type { Clock } from '../../core/index.ts';
import type { UpstreamClient } from '../../providers/upstream/index.ts';
import { assetClient } from './asset-client.ts';
import type { AssetProvider } from './asset-provider.ts';
import { dragomanAssets } from './dragoman-assets.ts';

export interface LibraryOptions {
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  readonly catalog: () => Catalog;
}

/** Accounts of other families have no library, so that no asset is bound to them. */
export function assetLibraries({ upstream, clock, catalog }: LibraryOptions): AssetProvider {
  const own = assetClient(upstream, clock);
  const dragoman = dragomanAssets(upstream, catalog);
  return (account) => (account.adapter === 'dragoman' ? dragoman : own)(account);
}
