/**
 * Creation of asset groups: those of callers (V 4.8 r1),
 * and the hidden ones that hold the assets of a variant without groups.
 */
import { sql } from 'kysely';
import type { Key } from '../../access/keys/index.ts';
import type { Account } from '../../catalog/index.ts';
import { ApiError, newId } from '../../core/index.ts';
import { type Db, firstRow } from '../../platform/db/index.ts';
import { ASSET_GROUP_FIELDS, ASSET_GROUP_TYPES, ASSET_RECONCILIATION, ASSET_SETTLING_MS } from '../../rules/index.ts';
import type { VideoGroup } from '../service-groups.ts';
import type { VideoServices } from '../services.ts';
import { type AssetCreateInput, type Creation, insertCreation, readCreation, recordCreation } from './creation.ts';
import { readFields, readModel } from './fields.ts';
import { lookUpGroup } from './look-up.ts';
import { type AssetGroupRow, afterMs } from './rows.ts';
import { boundAccount, groupWith, misconfigured, unavailable } from './service-group.ts';

const TYPE = ASSET_GROUP_TYPES[0];

export async function createGroup(services: VideoServices, key: Key, input: AssetCreateInput): Promise<AssetGroupRow> {
  const read = await readCreation(services, 'asset_groups', key.userId, input);
  if ('original' in read) return read.original;
  const { members, idempotent } = read;
  const group = groupWith(services.catalog(), key, readModel(members, ASSET_GROUP_FIELDS.model), 'hasGroups');
  const { name, description = '' } = readFields(members, ASSET_GROUP_FIELDS, services.allowedOrigins);
  const account = await boundAccount(services, key.userId, group.id);
  const inserted = await insertCreation(services, 'asset_groups', idempotent, (tx, id) =>
    insertionOf(tx, { ...ownedBy(key.userId, group, account), id, name, description }).executeTakeFirstOrThrow(),
  );
  if ('original' in inserted) return inserted.original;
  return send(services, account, inserted.creation);
}

const ownedBy = (userId: string, group: VideoGroup, account: Account) => ({
  user_id: userId,
  group_id: group.id,
  variant: group.variant,
  account_id: account.id,
});

const insertionOf = (
  db: Db,
  values: ReturnType<typeof ownedBy> & { id: string; name: string; description?: string; is_hidden?: boolean },
) =>
  db
    .insertInto('asset_groups')
    .values({ ...values, group_type: TYPE, status: 'creating', next_check_at: afterMs(ASSET_RECONCILIATION.leaseMs) })
    .returningAll();

/** The provider knows the group by our id, so that it can be found again. */
async function send(services: VideoServices, account: Account, creation: Creation<'asset_groups'>) {
  const { id, description } = creation.row;
  const outcome = await services.assetProvider(account).createGroup({ name: id, description });
  return recordCreation(services, creation, outcome);
}

/** How long a request waits for the hidden group that another request creates. */
const WAIT = { attempts: 50, everyMs: 100 } as const;

/** The hidden group of the user; created with the user's first asset. Throws when the provider has not confirmed it. */
export async function hiddenGroup(services: VideoServices, userId: string, group: VideoGroup, account: Account) {
  const owner = ownedBy(userId, group, account);
  for (let attempt = 0; attempt < WAIT.attempts; attempt += 1) {
    const found = await findHidden(services.db, owner);
    if (found?.status === 'active') return found;
    if (found?.status === 'create_unknown') return resolveHidden(services, found);
    if (!found) {
      const row = await insertHidden(services.db, owner);
      if (row) return sendHidden(services, account, row);
    }
    await new Promise<void>((resolve) => services.clock.after(WAIT.everyMs, resolve));
  }
  throw unavailable(503);
}

/** The caller asked for an asset, of which nothing was sent: errors about the group become errors of the service. */
async function sendHidden(services: VideoServices, account: Account, row: AssetGroupRow): Promise<AssetGroupRow> {
  try {
    return await send(services, account, { table: 'asset_groups', row, idempotent: undefined });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw error.code === 'asset_upstream_unavailable' ? unavailable(503, error.details.retryAfter) : misconfigured();
  }
}

const findHidden = (db: Db, { user_id, group_id, account_id }: ReturnType<typeof ownedBy>) =>
  firstRow(db)<AssetGroupRow>`
    select * from asset_groups where user_id = ${user_id} and group_id = ${group_id} and account_id = ${account_id}
      and is_hidden and status <> 'invalid'`;

/** Undefined when another request inserts it at the same time. */
const insertHidden = (db: Db, owner: ReturnType<typeof ownedBy>): Promise<AssetGroupRow | undefined> =>
  insertionOf(db, { ...owner, id: newId('assetgrp'), name: '', is_hidden: true })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();

/** Looks for the group now. One that does not appear is given up soon: an empty group at the provider harms no one. */
async function resolveHidden(services: VideoServices, row: AssetGroupRow): Promise<AssetGroupRow> {
  const found = await lookUpGroup(services, row);
  if (found?.status === 'active') return found;
  if (services.clock.now() - row.created_at.getTime() > ASSET_SETTLING_MS) await removeHidden(services.db, row);
  throw unavailable(503);
}

export const removeHidden = (db: Db, { user_id, id }: AssetGroupRow) =>
  sql`
    delete from asset_groups
    where user_id = ${user_id} and id = ${id} and is_hidden and status in ('create_unknown', 'failed')`.execute(db);
