/**
 * The service group and the upstream account of an asset operation.
 * A user's assets of one service group all live in one account, because only assets of one account can be combined;
 * so the account is chosen once and never changes (V 1).
 */
import type { Key } from '../../access/keys/index.ts';
import { type Account, type Catalog, hasAssetLibrary } from '../../catalog/index.ts';
import { type ApiError, fail } from '../../core/index.ts';
import { firstRow, type Row } from '../../platform/db/index.ts';
import { type AssetRules, VARIANT_SHEETS } from '../../rules/index.ts';
import { reachableGroups, type VideoGroup } from '../service-groups.ts';
import type { VideoServices } from '../services.ts';
import { resolveTarget } from '../target.ts';
import type { QueryOutcome } from '../upstream/client.ts';

export const assetRulesOf = ({ variant }: Pick<VideoGroup, 'variant'>): AssetRules => VARIANT_SHEETS[variant].assets;

/** The service group of a model. Throws `model_not_found` or `model_not_allowed`. */
export function groupOfModel(catalog: Catalog, key: Key, model: string): VideoGroup {
  const resolved = resolveTarget(catalog, key, model);
  if ('error' in resolved) throw resolved.error;
  return resolved.target.group;
}

/** What a group may offer, and the error where none does (V 4.10 r5). */
const OFFERS = {
  hasGroups: 'asset_groups_not_supported',
  hasRealPersonSessions: 'real_person_auth_not_supported',
} as const;

/** The group of the model, or the first of the key's groups that offers it. */
export function groupWith(catalog: Catalog, key: Key, model: string | undefined, offers: keyof typeof OFFERS) {
  const reachable = reachableGroups(catalog, key);
  const candidates = model === undefined ? reachable : [groupOfModel(catalog, key, model)];
  const group = candidates.find((candidate) => assetRulesOf(candidate)[offers]);
  if (!group) throw fail(OFFERS[offers]);
  return group;
}

/** The account of the user in the group; chosen with the first use. */
export async function boundAccount(services: VideoServices, userId: string, groupId: string): Promise<Account> {
  const { db, catalog, pool } = services;
  const usable = catalog()
    .accounts(groupId)
    .filter((account) => account.features.has('video') && hasAssetLibrary(account));
  const find = () =>
    firstRow(db)<Row<'asset_accounts'>>`
      select * from asset_accounts where user_id = ${userId} and group_id = ${groupId}`;
  let bound = await find();
  if (!bound) {
    const lease = pool.lease(usable);
    const chosen = 'account' in lease ? lease.account : usable[0];
    // Only chosen, not used: says nothing about the account.
    if ('account' in lease) lease.release({ kind: 'request' });
    if (!chosen) throw misconfigured();
    await db
      .insertInto('asset_accounts')
      .values({ user_id: userId, group_id: groupId, account_id: chosen.id })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    bound = await find();
  }
  const account = usable.find(({ id }) => id === bound?.account_id);
  if (!account) throw misconfigured();
  return account;
}

/** The account that holds an asset or a group; undefined when it is not configured any more. */
export const accountOf = (
  { catalog }: Pick<VideoServices, 'catalog'>,
  { group_id, account_id }: { readonly group_id: string; readonly account_id: string },
): Account | undefined => {
  const account = catalog().account(account_id, group_id);
  return account && hasAssetLibrary(account) ? account : undefined;
};

/** Seconds until a retry when the provider names none. */
const RETRY_SECONDS = 5;
const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 402, 403]);

/** 502: the provider responded with an error or nonsense. 503: it could not be asked, or takes no more requests now. */
export const unavailable = (status: 502 | 503, retryAfter = RETRY_SECONDS): ApiError =>
  fail('asset_upstream_unavailable', 'The asset service is unavailable for the moment; try again later.', {
    status,
    retryAfter,
  });

/** The provider may have created the object, so the request must not be repeated by a client on its own. */
export const unconfirmed = (): ApiError =>
  fail(
    'asset_upstream_unavailable',
    'The asset service did not confirm the creation. ' +
      'It is looked up in the background; list the groups before you try again.',
    { status: 503, retryAfter: RETRY_SECONDS, headers: { 'x-should-retry': 'false' } },
  );

export const misconfigured = (): ApiError => fail('asset_route_group_misconfigured');

export function queryError({ status, retryAfter }: Extract<QueryOutcome<unknown>, { kind: 'failed' }>): ApiError {
  if (status === undefined || status === 429) return unavailable(503, retryAfter);
  return ACCOUNT_STATUSES.has(status) ? misconfigured() : unavailable(502);
}
