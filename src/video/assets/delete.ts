/**
 * DELETE of assets and groups (V 3, V 4.8 r3, V 4.9 r6).
 * Whether it is allowed is decided in the transaction that sets `deleting`.
 * The provider deletes the assets of a group together with it, so our own check that it is empty must hold until then.
 */
import { fail } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { type Db, firstRow } from '../../platform/db/index.ts';
import { ASSET_GROUP_TYPES, VARIANT_SHEETS, type VideoVariant } from '../../rules/index.ts';
import { DELETED, KINDS } from './creation.ts';
import { findUpstream, isOverdue, type LookUpServices } from './look-up.ts';
import { afterMs, lockRow, moveRow, type RowName, type RowOf, type Table } from './rows.ts';
import { accountOf } from './service-group.ts';

/** Time for the request to the provider, after which a worker repeats it. */
const REPEAT_MS = 60_000;

/** Returns the row as it is after the attempt: `deleting`, `deleted` or `delete_failed`. */
export async function deleteRow<T extends Table>(services: LookUpServices, table: T, row: RowOf[T]): Promise<RowOf[T]> {
  if (!VARIANT_SHEETS[row.variant as VideoVariant].assets.isDeletable) throw fail(KINDS[table].undeletable);
  const { deleting, isNew } = await setDeleting(services.db, table, row);
  crashPoint('asset.deleting');
  return isNew ? deleteUpstream(services, table, deleting) : deleting;
}

const setDeleting = <T extends Table>(db: Db, table: T, row: RowOf[T]) =>
  db.transaction().execute(async (tx) => {
    const locked = await lockRow(tx, table, row);
    if (!locked) throw fail(KINDS[table].missing);
    if (locked.status === 'deleting' || locked.status === 'deleted') return { deleting: locked, isNew: false };
    if (table === 'assets' ? await isInUse(tx, locked) : await holdsAssets(tx, locked))
      throw fail(table === 'assets' ? 'asset_in_use' : 'asset_group_not_empty');
    // A creation that is under way is left alone until its time is over; its object is then found by name.
    const isCreating = locked.status === 'creating';
    const changes = isCreating ? {} : { next_check_at: afterMs(REPEAT_MS) };
    const deleting = await moveRow(tx, table, locked, 'deleting', changes);
    return { deleting: deleting ?? locked, isNew: deleting !== undefined && !isCreating };
  });

const isInUse = async (tx: Db, { user_id, id }: RowName): Promise<boolean> =>
  (await firstRow(tx)`
    select from video_task_assets u join video_tasks t on t.user_id = u.user_id and t.id = u.task_id
    where u.user_id = ${user_id} and u.asset_id = ${id} and t.finished_at is null limit 1`) !== undefined;

/** Any asset that is not deleted counts, failed ones too. */
const holdsAssets = async (tx: Db, { user_id, id }: RowName): Promise<boolean> =>
  (await firstRow(tx)`
    select from assets where user_id = ${user_id} and asset_group_id = ${id} and deleted_at is null
    limit 1`) !== undefined;

/** One attempt for a row in status `deleting`; a worker repeats it until the provider has confirmed. */
export async function deleteUpstream<T extends Table>(services: LookUpServices, table: T, row: RowOf[T]) {
  const account = accountOf(services, row);
  if (!account) return row;
  let upstreamId = row.upstream_id;
  if (upstreamId === null) {
    const found = await findUpstream(services, table, row);
    if (found.kind === 'missing' && isOverdue(services, row)) return markDeleted(services, table, row);
    if (found.kind !== 'found') return row;
    upstreamId = found.value.id;
  }
  if (table === 'asset_groups' && (await isShared(services, row, upstreamId))) return markDeleted(services, table, row);
  const library = services.assetProvider(account);
  const outcome = await (table === 'assets' ? library.deleteAsset(upstreamId) : library.deleteGroup(upstreamId));
  crashPoint('asset.delete_sent');
  if (outcome === 'done') return markDeleted(services, table, row);
  services.log.warn('asset.not_deleted', { table, id: row.id, account: account.id, outcome });
  if (outcome === 'failed') return row;
  return (await moveRow(services.db, table, row, 'delete_failed')) ?? row;
}

/**
 * Two users can have groups of one real person.
 * The provider would delete the assets of both, so its group stays until the last one goes.
 */
const isShared = async ({ db }: LookUpServices, { account_id, id }: RowOf[Table], upstreamId: string) =>
  (await firstRow(db)`
    select from asset_groups where account_id = ${account_id} and upstream_id = ${upstreamId}
      and group_type = ${ASSET_GROUP_TYPES[1]} and id <> ${id} and status <> 'deleted' limit 1`) !== undefined;

async function markDeleted<T extends Table>({ db }: LookUpServices, table: T, row: RowOf[T]): Promise<RowOf[T]> {
  const deleted = await moveRow(db, table, row, 'deleted', DELETED);
  crashPoint('asset.deleted');
  return deleted ?? row;
}
