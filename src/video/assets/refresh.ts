/** Refresh of an asset (V 4.9 r5): asks the provider, at most once in two seconds, and saves what it reports. */
import { firstRow } from '../../platform/db/index.ts';
import { ASSET_SETTLING_MS } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { current, type LookUpServices, lookUpAsset, saveReport } from './look-up.ts';
import { type AssetRow, findRow } from './rows.ts';
import { accountOf, misconfigured, queryError } from './service-group.ts';

/**
 * Statuses in which the provider can report news. The others end by a new asset, or by the deletion that is running.
 */
const ASKED: ReadonlySet<string> = new Set(['processing', 'active', 'create_unknown']);

/** Asks the provider, unless it was asked within `sinceMs`. */
export async function checkAsset(services: LookUpServices, asset: AssetRow, sinceMs = 0): Promise<AssetRow> {
  if (!ASKED.has(asset.status)) return asset;
  const account = accountOf(services, asset);
  if (!account) throw misconfigured();
  const taken = await takeRefresh(services, asset, sinceMs);
  if (!taken) return current(services, asset);
  if (taken.status === 'create_unknown') return refreshUnknown(services, taken);
  const reported = await services.assetProvider(account).getAsset(taken.upstream_id ?? '');
  if (reported.kind === 'failed') throw queryError(reported);
  if (reported.kind === 'found') return saveReport(services, taken, reported.value);
  return isSettling(services, taken) ? taken : saveReport(services, taken, 'missing');
}

/** Undefined when the asset was refreshed within this time, by any replica. */
const takeRefresh = ({ db }: LookUpServices, { user_id, id }: AssetRow, sinceMs: number) =>
  firstRow(db)<AssetRow>`
    update assets set refreshed_at = now()
    where user_id = ${user_id} and id = ${id}
      and (refreshed_at is null or refreshed_at <= now() - ${sinceMs} * interval '1 millisecond')
    returning *`;

async function refreshUnknown(services: LookUpServices, asset: AssetRow): Promise<AssetRow> {
  const found = await lookUpAsset(services, asset);
  if (found && 'kind' in found) throw queryError(found);
  return found ?? current(services, asset);
}

const isSettling = ({ clock }: LookUpServices, { status, created_at }: AssetRow): boolean =>
  status === 'processing' && clock.now() - created_at.getTime() < ASSET_SETTLING_MS;

/**
 * After a rejected task: the first of its assets that turns out to be gone at the provider,
 * which is `invalid` from then on.
 */
export async function findGoneAsset(services: VideoServices, userId: string, ids: readonly string[]) {
  const isGone = await Promise.all(
    ids.map(async (id) => {
      const asset = await findRow(services.db, 'assets', userId, id);
      // When the provider cannot be asked, its rejection stands as it is.
      const refreshed = asset && (await checkAsset(services, asset).catch(() => undefined));
      return refreshed?.status === 'invalid';
    }),
  );
  return ids.find((_, n) => isGone[n]);
}
