/** Background work on assets and groups: resolves creations without a clear response, and repeats deletions. */
import { sql } from 'kysely';
import { errorFields } from '../../core/index.ts';
import { allRows } from '../../platform/db/index.ts';
import { ASSET_RECONCILIATION } from '../../rules/index.ts';
import { removeHidden } from './create-group.ts';
import { settleRecord } from './creation.ts';
import { deleteUpstream } from './delete.ts';
import { type LookUpServices, lookUpAsset, lookUpGroup } from './look-up.ts';
import type { AssetGroupRow, AssetRow, RowOf, Table } from './rows.ts';

/** Rows per table and run. The provider takes ten list requests per second. */
const BATCH = 10;

/** Returns how many rows it looked at. */
export async function reconcileAssets(services: LookUpServices): Promise<number> {
  const groups = await takeDue(services, 'asset_groups');
  const assets = await takeDue(services, 'assets');
  for (const group of groups) await attempt(services, group.id, () => reconcileGroup(services, group));
  for (const asset of assets) await attempt(services, asset.id, () => reconcileAsset(services, asset));
  return groups.length + assets.length;
}

/** A row that fails does not keep the others waiting. */
async function attempt({ log }: LookUpServices, id: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    log.error('asset.reconcile_failed', { id, ...errorFields(error) });
  }
}

/**
 * Takes rows by moving their next check, so that no other worker looks at the same time.
 * A creation whose replica stopped may have been sent; a failed deletion begins again.
 */
async function takeDue<T extends Table>({ db }: LookUpServices, table: T): Promise<readonly RowOf[T][]> {
  const { scheduleSeconds } = ASSET_RECONCILIATION;
  const delays = sql.raw(`(array[${scheduleSeconds.join(',')}])`);
  return allRows(db)<RowOf[T]>`
    with due as materialized (
      select user_id, id from ${sql.table(table)}
      where next_check_at <= now() and status in ('creating', 'create_unknown', 'deleting', 'delete_failed')
      order by next_check_at limit ${BATCH} for update skip locked)
    update ${sql.table(table)} t set check_attempts = t.check_attempts + 1,
      next_check_at = now() + ${delays}[least(t.check_attempts + 1, ${scheduleSeconds.length})] * interval '1 second',
      status = case t.status
        when 'creating' then 'create_unknown' when 'delete_failed' then 'deleting' else t.status end,
      updated_at = case when t.status in ('creating', 'delete_failed') then now() else t.updated_at end
    from due where t.user_id = due.user_id and t.id = due.id returning t.*`;
}

async function reconcileGroup(services: LookUpServices, group: AssetGroupRow): Promise<void> {
  if (group.status === 'deleting') await deleteUpstream(services, 'asset_groups', group);
  else if ((await lookUpGroup(services, group))?.status === 'failed' && group.is_hidden)
    await removeHidden(services.db, group);
}

async function reconcileAsset(services: LookUpServices, asset: AssetRow): Promise<void> {
  if (asset.status === 'deleting') await deleteUpstream(services, 'assets', asset);
  else {
    await settleRecord(services.db, 'assets', asset);
    await lookUpAsset(services, asset);
  }
}
