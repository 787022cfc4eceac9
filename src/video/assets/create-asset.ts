/** Registration of an asset (V 4.9 r1, r2): the group that it goes into, the row, and one request to the provider. */
import type { Key } from '../../access/keys/index.ts';
import { fail, failAt } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import * as rules from '../../rules/index.ts';
import { findInputFile } from '../input-files.ts';
import { invalidField } from '../request/task-request.ts';
import { reachableGroups } from '../service-groups.ts';
import type { VideoServices } from '../services.ts';
import { hiddenGroup } from './create-group.ts';
import { type AssetCreateInput, type Creation, insertCreation, readCreation, recordCreation } from './creation.ts';
import { type FieldValues, readFields, readModel } from './fields.ts';
import { type AssetGroupRow, type AssetRow, afterMs, findRow, lockRow, moveRow } from './rows.ts';
import { accountOf, assetRulesOf, boundAccount, groupOfModel } from './service-group.ts';

type Fields = FieldValues<typeof rules.ASSET_FIELDS>;

export async function createAsset(services: VideoServices, key: Key, input: AssetCreateInput): Promise<AssetRow> {
  const read = await readCreation(services, 'assets', key.userId, input);
  if ('original' in read) return read.original;
  const { members, idempotent } = read;
  reachableGroups(services.catalog(), key);
  const model = readModel(members, rules.ASSET_FIELDS.model);
  if (model !== undefined) groupOfModel(services.catalog(), key, model);
  const fields = readFields(members, rules.ASSET_FIELDS, services.allowedOrigins);
  const container = await containerFor(services, key, fields);
  const url = await sourceUrl(services, key, container, fields);
  const inserted = await insertCreation(services, 'assets', idempotent, (tx, id) =>
    insertAsset(tx, container, fields, id),
  );
  if ('original' in inserted) return inserted.original;
  return send(services, container, { ...inserted, url });
}

/** Where the provider reads the file. */
async function sourceUrl(services: VideoServices, key: Key, container: AssetGroupRow, { url, asset_type }: Fields) {
  if (!rules.FILE_ID.pattern.test(url)) return url;
  const kind = asset_type.toLowerCase() as rules.MediaKind;
  await findInputFile(services.files, key.userId, { id: url, param: 'url', kind }, rules.VARIANT_SHEETS.A.inlineMedia);
  const account = accountOf(services, container);
  const link = account && services.fileLinkFor(account, url, key);
  if (link === undefined)
    throw failAt(
      'invalid_request',
      'url',
      'the provider cannot reach this gateway to read the file; send a public URL.',
    );
  return link;
}

const containerFor = (services: VideoServices, key: Key, fields: Fields): Promise<AssetGroupRow> =>
  fields.group_id === undefined
    ? containerWithoutGroup(services, key, fields.model)
    : containerOf(services, key, fields.group_id, fields.model);

/** Only a variant without groups takes an asset without `group_id`. */
async function containerWithoutGroup(services: VideoServices, key: Key, model: string | undefined) {
  const catalog = services.catalog();
  const candidates = model === undefined ? reachableGroups(catalog, key) : [groupOfModel(catalog, key, model)];
  const group = candidates.find((one) => !assetRulesOf(one).hasGroups);
  if (!group) throw invalidField('group_id', 'missing', 'send the id of an asset group');
  return hiddenGroup(services, key.userId, group, await boundAccount(services, key.userId, group.id));
}

async function containerOf({ db, catalog }: VideoServices, key: Key, groupId: string, model: string | undefined) {
  if (model !== undefined && !assetRulesOf(groupOfModel(catalog(), key, model)).hasGroups)
    throw invalidField('group_id', 'the model has no asset groups', 'remove it');
  const container = await findRow(db, 'asset_groups', key.userId, groupId);
  if (!container || container.status === 'deleted') throw notFound();
  const isReachable = reachableGroups(catalog(), key).some(({ id }) => id === container.group_id);
  if (model !== undefined && !(isReachable && catalog().resolve(container.group_id, model)))
    throw failAt('asset_channel_mismatch', 'model', 'it belongs to another service group than the asset group.');
  if (!isReachable) throw fail('asset_route_group_unavailable');
  return container;
}

const notFound = () => fail('asset_group_not_found', undefined, { param: 'group_id' });

/** The lock keeps the group from being deleted until the asset is there; a deletion of the group then finds it. */
async function insertAsset(tx: Db, container: AssetGroupRow, fields: Fields, id: string): Promise<AssetRow> {
  const group = await lockRow(tx, 'asset_groups', container, 'share');
  if (!group || group.status === 'deleted') throw notFound();
  if (group.status !== 'active')
    throw failAt('asset_binding_unavailable', 'group_id', `the group is ${group.status}; use an active one.`);
  if (group.group_type === 'LivenessFace' && fields.asset_type === 'Audio')
    throw invalidField('asset_type', 'a group of a real person takes no audio', 'send Image or Video');
  return tx
    .insertInto('assets')
    .values({
      user_id: group.user_id,
      id,
      asset_group_id: group.id,
      group_id: group.group_id,
      variant: group.variant,
      account_id: group.account_id,
      name: fields.name ?? '',
      asset_type: fields.asset_type,
      status: 'creating',
      source_url: fields.url,
      next_check_at: afterMs(rules.ASSET_RECONCILIATION.leaseMs),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The provider knows the asset by our id, so that it can be found again. */
async function send(
  services: VideoServices,
  container: AssetGroupRow,
  { creation, url }: { readonly creation: Creation<'assets'>; readonly url: string },
): Promise<AssetRow> {
  const { row } = creation;
  const account = accountOf(services, row);
  const groupId = container.upstream_id;
  if (!account || groupId === null)
    return recordCreation(services, creation, { kind: 'rejected', error: { status: 403, code: '', message: '' } });
  const asset = { groupId, url, kind: row.asset_type as rules.AssetType, name: row.id };
  const outcome = await services.assetProvider(account).createAsset(asset);
  if (outcome.kind === 'rejected' && outcome.error.code.startsWith('NotFound.group'))
    await moveRow(services.db, 'asset_groups', container, 'invalid');
  return recordCreation(services, creation, outcome);
}
