/** The asset library of each account, by its adapter. */
import { type Account, type Catalog, publicMessage } from '../../catalog/index.ts';
import type { Clock } from '../../core/index.ts';
import type { UpstreamClient } from '../../providers/upstream/index.ts';
import { assetClient } from './asset-client.ts';
import type { AssetCreateOutcome, AssetProvider, ReportedAsset } from './asset-provider.ts';
import type { QueryOutcome } from './client.ts';
import { dragomanAssets } from './dragoman-assets.ts';

export interface LibraryOptions {
  readonly upstream: UpstreamClient;
  readonly clock: Clock;
  readonly catalog: () => Catalog;
}

/** An asset provider that hands every call to the library of the account. Its messages have none of our secrets. */
export function assetLibraries({ upstream, clock, catalog }: LibraryOptions): AssetProvider {
  const own = assetClient(upstream, clock);
  const dragoman = dragomanAssets(upstream, catalog);
  // Accounts of other families have no library, so that no asset is bound to them.
  const libraryOf = ({ adapter }: Account): AssetProvider => (adapter === 'dragoman' ? dragoman : own);
  return {
    createGroup: async (account, group) => readable(account, await libraryOf(account).createGroup(account, group)),
    findGroups: (account, name) => libraryOf(account).findGroups(account, name),
    getGroup: (account, id) => libraryOf(account).getGroup(account, id),
    deleteGroup: (account, id) => libraryOf(account).deleteGroup(account, id),
    createAsset: async (account, asset) => readable(account, await libraryOf(account).createAsset(account, asset)),
    getAsset: async (account, id) =>
      sameId(
        id,
        mapFound(await libraryOf(account).getAsset(account, id), (asset) => withReadableFailure(account, asset)),
      ),
    findAssets: async (account, group, name) =>
      mapFound(await libraryOf(account).findAssets(account, group, name), (assets) =>
        assets.map((asset) => withReadableFailure(account, asset)),
      ),
    deleteAsset: (account, id) => libraryOf(account).deleteAsset(account, id),
    startValidation: (account, callbackUrl) => libraryOf(account).startValidation(account, callbackUrl),
    getValidation: (account, token) => libraryOf(account).getValidation(account, token),
  };
}

function readable<T>(account: Account, outcome: AssetCreateOutcome<T>): AssetCreateOutcome<T> {
  if (outcome.kind !== 'rejected') return outcome;
  return { ...outcome, error: { ...outcome.error, message: publicMessage(outcome.error.message, { account }) } };
}

const withReadableFailure = (account: Account, asset: ReportedAsset): ReportedAsset =>
  asset.failure === undefined ? asset : { ...asset, failure: publicMessage(asset.failure, { account }) };

/** A report about another asset says nothing about this one. */
const sameId = (id: string, outcome: QueryOutcome<ReportedAsset>): QueryOutcome<ReportedAsset> =>
  outcome.kind === 'found' && outcome.value.id !== id ? { kind: 'failed', status: 502 } : outcome;

const mapFound = <T>(outcome: QueryOutcome<T>, change: (value: T) => T): QueryOutcome<T> =>
  outcome.kind === 'found' ? { ...outcome, value: change(outcome.value) } : outcome;
