/**
 * Looks for objects at the provider by their name, which is our id: what became of a creation without a clear response.
 */
import { firstRow } from '../../platform/db/index.ts';
import { ASSET_RECONCILIATION, type AssetStatus, assetStatusAfter } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import type { ReportedAsset } from '../upstream/asset-provider.ts';
import type { QueryOutcome } from '../upstream/client.ts';
import { KINDS, settleRecord } from './creation.ts';
import { type AssetGroupRow, type AssetRow, findRow, moveRow, type RowOf, type Table } from './rows.ts';
import { accountOf } from './service-group.ts';

export type LookUpServices = Pick<VideoServices, 'db' | 'catalog' | 'clock' | 'log' | 'assetProvider'>;

type Found = QueryOutcome<{ readonly id: string }>;
type Report = Pick<ReportedAsset, 'status' | 'failure'> | 'missing';

/** The provider's object of a row: `missing` when the provider has none with this name. */
export async function findUpstream<T extends Table>(services: LookUpServices, table: T, row: RowOf[T]): Promise<Found> {
  const account = accountOf(services, row);
  if (!account) return { kind: 'failed', status: undefined };
  const group = 'asset_group_id' in row ? await upstreamGroupOf(services, row) : undefined;
  // An asset is sent only into a group that the provider has confirmed.
  if (table === 'assets' && !group) return { kind: 'missing' };
  const found = group
    ? await services.assetProvider(account).findAssets(group, row.id)
    : await services.assetProvider(account).findGroups(row.id);
  if (found.kind !== 'found') return found;
  const [first] = found.value;
  return first ? { kind: 'found', value: first } : { kind: 'missing' };
}

const upstreamGroupOf = ({ db }: LookUpServices, { user_id, asset_group_id }: AssetRow) =>
  firstRow(db)<{ id: string; type: string }>`
    select upstream_id as id, group_type as type from asset_groups
    where user_id = ${user_id} and id = ${asset_group_id} and upstream_id is not null`;

/** Old enough to conclude from a missing object that it was never created. */
export const isOverdue = ({ clock }: Pick<VideoServices, 'clock'>, { created_at }: RowOf[Table]): boolean =>
  clock.now() - created_at.getTime() > ASSET_RECONCILIATION.giveUpSeconds * 1_000;

/** Returns the group once it is decided. */
export async function lookUpGroup(services: LookUpServices, row: AssetGroupRow): Promise<AssetGroupRow | undefined> {
  const found = await findUpstream(services, 'asset_groups', row);
  return decide(services, 'asset_groups', row, found);
}

/**
 * Returns the asset once it is decided, with the state that the provider reports;
 * `failed` when the provider could not be asked.
 */
export async function lookUpAsset(services: LookUpServices, row: AssetRow) {
  const found = await findUpstream(services, 'assets', row);
  if (found.kind === 'failed') return found;
  return decide(services, 'assets', row, found);
}

async function decide<T extends Table>(services: LookUpServices, table: T, row: RowOf[T], found: Found) {
  const decided = await services.db.transaction().execute(async (tx) => {
    let moved: RowOf[T] | undefined;
    if (found.kind === 'found') {
      const changes = { upstream_id: found.value.id, next_check_at: null };
      moved = await moveRow(tx, table, row, KINDS[table].confirmed as never, changes);
    } else if (found.kind === 'missing' && isOverdue(services, row))
      moved = await moveRow(tx, table, row, 'failed', { next_check_at: null });
    if (moved) await settleRecord(tx, table, moved);
    return moved;
  });
  if (!decided) return undefined;
  services.log.info('asset.reconciled', { table, id: row.id, status: decided.status });
  return table === 'assets' && found.kind === 'found'
    ? ((await saveReport(services, decided as AssetRow, found.value as ReportedAsset)) as RowOf[T])
    : decided;
}

/** Saves what the provider reports about an asset, and returns the asset as it is now. */
export async function saveReport({ db }: LookUpServices, asset: AssetRow, reported: Report): Promise<AssetRow> {
  const status = reported === 'missing' ? reported : reported.status;
  const next = assetStatusAfter(asset.status as AssetStatus, status);
  if (next === undefined) return asset;
  const failure = reported === 'missing' ? GONE : (reported.failure ?? null);
  const moved = await moveRow(db, 'assets', asset, next, { failure: next === 'active' ? null : failure });
  return moved ?? current({ db }, asset);
}

/** Why an asset failed that the provider does not have. */
const GONE = 'asset_gone: ';

/** The asset after another request has changed it. */
export const current = async ({ db }: Pick<VideoServices, 'db'>, asset: AssetRow): Promise<AssetRow> =>
  (await findRow(db, 'assets', asset.user_id, asset.id)) ?? asset;
