/**
 * References to private assets and public characters in a request (V 4.1): checked against their owner, kind,
 * state and service group, and translated to the provider's ids. An account that holds an asset must also run the task.
 */
import { sql } from 'kysely';
import type { Key } from '../access/keys/index.ts';
import { type Catalog, type Group, hasAssetLibrary, type Model } from '../catalog/index.ts';
import { type ApiError, fail } from '../core/index.ts';
import type { Db, Row } from '../platform/db/index.ts';
import { type ErrorCode, MEDIA_ITEMS } from '../rules/index.ts';
import { type CatalogServices, findCharacter } from './characters/catalog.ts';
import type { MediaReference } from './request/task-request.ts';

export interface ReferenceTarget {
  readonly group: Group;
  readonly model: Model;
}

export interface ResolvedReferences {
  /** The provider's id of each reference, by the index of its content item. */
  readonly upstreamIds: ReadonlyMap<number, string>;
  /** The private assets in use, each once. */
  readonly assetIds: readonly string[];
  /** The account that holds the assets; undefined when any account of the group may run the task. */
  readonly accountId: string | undefined;
}

/** The part of an asset that a reference is checked by. */
const COLUMNS = ['id', 'group_id', 'variant', 'account_id', 'asset_type', 'status', 'upstream_id'] as const;
type ReferencedAsset = Pick<Row<'assets'>, (typeof COLUMNS)[number]>;

interface AssetUse {
  readonly reference: MediaReference;
  readonly asset: ReferencedAsset;
}

export async function resolveReferences(
  services: CatalogServices,
  key: Key,
  target: ReferenceTarget,
  references: readonly MediaReference[],
): Promise<ResolvedReferences> {
  if (references.length === 0) return { upstreamIds: new Map(), assetIds: [], accountId: undefined };
  const catalog = services.catalog();
  const uses = await findAssets(services.db, key, references);
  const characters = await resolveCharacters(services, key, target, references);
  for (const { code, isViolated } of CHECKS) {
    const use = uses.find((candidate) => isViolated(candidate, { uses, target, catalog, key }));
    if (use) throw violation(code, use.reference, use.asset.status);
  }
  const upstreamIds = new Map([
    ...uses.map(({ reference, asset }) => [reference.index, asset.upstream_id ?? ''] as const),
    ...characters,
  ]);
  return {
    upstreamIds,
    assetIds: [...new Set(uses.map(({ asset }) => asset.id))],
    accountId: uses[0]?.asset.account_id,
  };
}

/** Owner in the query: a foreign asset is as unknown as a missing one. */
async function findAssets(db: Db, key: Key, references: readonly MediaReference[]): Promise<AssetUse[]> {
  const named = references.filter(({ form }) => form === 'asset');
  if (named.length === 0) return [];
  const rows = await db
    .selectFrom('assets')
    .select(COLUMNS)
    .where('user_id', '=', key.userId)
    .where('id', 'in', [...new Set(named.map(({ id }) => id))])
    .where('status', '<>', 'deleted')
    .execute();
  return named.map((reference) => {
    const asset = rows.find(({ id }) => id === reference.id);
    if (!asset) throw violation('asset_not_found', reference);
    return { reference, asset };
  });
}

async function resolveCharacters(
  services: CatalogServices,
  key: Key,
  { group, model }: ReferenceTarget,
  references: readonly MediaReference[],
): Promise<(readonly [number, string])[]> {
  const named = references.filter(({ form }) => form === 'character');
  return Promise.all(
    named.map(async (reference) => {
      const character = await findCharacter(services, key, reference.id, model.name);
      // A character belongs to one service group; a model of another group cannot use it.
      if (!character || character.group_id !== group.id) throw violation('public_character_not_found', reference);
      return [reference.index, character.upstream_asset] as const;
    }),
  );
}

interface CheckContext {
  readonly uses: readonly AssetUse[];
  readonly target: ReferenceTarget;
  readonly catalog: Catalog;
  readonly key: Key;
}

/** In the order of V 4.1: of two violations the earlier check is reported. The form was checked with the request. */
const CHECKS: readonly { readonly code: ErrorCode; isViolated(use: AssetUse, context: CheckContext): boolean }[] = [
  { code: 'asset_kind_mismatch', isViolated: ({ reference, asset }) => asset.asset_type !== assetTypeOf(reference) },
  { code: 'asset_invalid', isViolated: ({ asset }) => asset.status === 'invalid' },
  {
    code: 'asset_not_ready',
    isViolated: ({ asset }) => !['active', 'deleting', 'delete_failed'].includes(asset.status),
  },
  {
    code: 'asset_binding_conflict',
    isViolated: ({ asset }, { uses: [first] }) =>
      asset.group_id !== first?.asset.group_id || asset.account_id !== first.asset.account_id,
  },
  { code: 'asset_channel_mismatch', isViolated: ({ asset }, { target }) => asset.group_id !== target.group.id },
  {
    code: 'asset_binding_unavailable',
    isViolated: ({ asset }, { catalog }) =>
      asset.status !== 'active' || !catalog.account(asset.account_id, asset.group_id),
  },
  {
    code: 'asset_route_group_unavailable',
    isViolated: ({ asset }, { key }) => key.videoGroups !== null && !key.videoGroups.includes(asset.group_id),
  },
  {
    code: 'asset_route_group_misconfigured',
    isViolated: ({ asset }, { catalog }) =>
      !catalog.accounts(asset.group_id).some((account) => account.id === asset.account_id && hasAssetLibrary(account)),
  },
];

const assetTypeOf = ({ kind }: MediaReference): string | undefined =>
  Object.values(MEDIA_ITEMS).find((item) => item.kind === kind)?.assetType;

const violation = (code: ErrorCode, { param }: MediaReference, status?: string): ApiError =>
  fail(code, code === 'asset_not_ready' && status === 'failed' ? FAILED : undefined, { param });
const FAILED = 'The asset failed and will not become active; its error says why. Create a new one.';

/**
 * Notes which assets a task uses, in the transaction that creates the task.
 * The lock keeps them from being deleted meanwhile: an asset of an unfinished task cannot be deleted.
 */
export async function useAssets(tx: Db, userId: string, taskId: string, assetIds: readonly string[]): Promise<void> {
  if (assetIds.length === 0) return;
  const { rows } = await sql<{ id: string }>`
    select id from assets where user_id = ${userId} and id = any(${assetIds}) and status = 'active'
    order by id for share`.execute(tx);
  if (rows.length < assetIds.length) throw fail('asset_binding_unavailable');
  await tx
    .insertInto('video_task_assets')
    .values(assetIds.map((asset_id) => ({ user_id: userId, task_id: taskId, asset_id })))
    .execute();
}
