/** API keys as rows: made, found by hash, revoked. The value itself is never stored; only the caller ever sees it, once. */
import { isDeepStrictEqual } from 'node:util';
import type { Selectable } from 'kysely';
import { derive, hmac, type Limits, newId, readLimits, type Sealer, type StoredLimits } from '../core/index.ts';
import type { Db, Rows } from '../db/index.ts';
import { hintOf, newKeyValue } from './key-format.ts';

/** What the gateway needs to know of a key during a call. */
export interface Key {
  readonly id: string;
  readonly userId: string;
  readonly groupId: string;
  readonly name: string;
  readonly videoGroups: readonly string[] | null;
  readonly allowedModels: readonly string[] | null;
  readonly allowedAddresses: readonly string[] | null;
  readonly limits: Limits | undefined;
  /** Of all keys of the user together. */
  readonly userLimits: Limits | undefined;
  readonly expiresAt: number | null;
  /** May responses of its calls be kept for later reference? */
  readonly store: boolean;
  /** What the user pays of the price, in parts per million. */
  readonly userMultiplierPpm: bigint;
}

export interface KeyInput {
  readonly user: string;
  readonly group: string;
  readonly name: string;
  /** A value of the operator's own; one is made when absent. */
  readonly token?: string | undefined;
  readonly videoGroups?: readonly string[] | undefined;
  readonly allowedModels?: readonly string[] | undefined;
  readonly allowedAddresses?: readonly string[] | undefined;
  readonly limits?: StoredLimits | undefined;
  readonly expiresAt?: Date | undefined;
  readonly store?: boolean | undefined;
}

export interface KeySecrets {
  readonly pepper: Buffer;
  readonly sealer: Sealer;
}

/** The secret that signs callbacks depends on the key alone (V 6 r5), so it is derived while the value is at hand. */
const CALLBACK_INFO = 'gateway-video-callback-v1';

export const hashKey = (token: string, pepper: Buffer): Buffer => hmac(pepper, token);

export interface SavedKey {
  readonly id: string;
  readonly what?: 'made' | 'changed';
  /** The value, only when it was made here. */
  readonly made?: string;
}

/** Makes the key, or changes the one of the same user, group and name to match what is given. */
export async function saveKey(db: Db, wish: KeyInput, secrets: KeySecrets): Promise<SavedKey> {
  const stored = await db
    .selectFrom('keys')
    .selectAll()
    .where('user_id', '=', wish.user)
    .where('group_id', '=', wish.group)
    .where('name', '=', wish.name)
    .executeTakeFirst();
  if (!stored) return makeKey(db, wish, secrets);
  const token =
    wish.token !== undefined && !hashKey(wish.token, secrets.pepper).equals(stored.hash) ? wish.token : undefined;
  const columns = { ...settingsOf(wish), ...(token !== undefined && tokenColumns(stored.id, token, secrets)) };
  const changed = Object.entries(columns).filter(
    ([name, value]) => !isSame(stored[name as keyof typeof stored], value),
  );
  if (changed.length === 0) return { id: stored.id };
  await db.updateTable('keys').set(Object.fromEntries(changed)).where('id', '=', stored.id).execute();
  return { id: stored.id, what: 'changed' };
}

async function makeKey(db: Db, wish: KeyInput, secrets: KeySecrets): Promise<SavedKey> {
  const id = newId('key');
  const token = wish.token ?? newKeyValue();
  const owner = { id, user_id: wish.user, group_id: wish.group, name: wish.name };
  await db
    .insertInto('keys')
    .values({ ...owner, ...settingsOf(wish), ...tokenColumns(id, token, secrets) })
    .execute();
  return { id, what: 'made', ...(wish.token === undefined && { made: token }) };
}

/** Only what is given: a setting that the wish does not name keeps its value. */
const settingsOf = (wish: KeyInput) => ({
  ...(wish.videoGroups && { video_groups: [...wish.videoGroups] }),
  ...(wish.allowedModels && { allowed_models: [...wish.allowedModels] }),
  ...(wish.allowedAddresses && { allowed_addresses: [...wish.allowedAddresses] }),
  ...(wish.limits && { limits: JSON.stringify(wish.limits) }),
  ...(wish.expiresAt && { expires_at: wish.expiresAt }),
  ...(wish.store !== undefined && { store: wish.store }),
});

const isSame = (stored: unknown, wanted: unknown): boolean =>
  isDeepStrictEqual(stored, typeof wanted === 'string' && typeof stored === 'object' ? JSON.parse(wanted) : wanted);

function tokenColumns(id: string, token: string, { pepper, sealer }: KeySecrets) {
  const callbackSecret = derive(token, CALLBACK_INFO).toString('base64');
  return {
    hash: hashKey(token, pepper),
    hint: hintOf(token),
    callback_secret_sealed: sealer.seal(callbackSecret, `keys.callback_secret:${id}`),
  };
}

export async function revokeKey(db: Db, id: string): Promise<boolean> {
  const result = await db
    .updateTable('keys')
    .set({ revoked_at: new Date() })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** All that may be shown of a key. */
export const keyView = (row: Selectable<Rows['keys']>, now: number) => ({
  id: row.id,
  user: row.user_id,
  group: row.group_id,
  name: row.name,
  hint: row.hint,
  state: row.revoked_at ? 'revoked' : row.expires_at && row.expires_at.getTime() <= now ? 'expired' : 'valid',
  video_groups: row.video_groups,
  models: row.allowed_models,
  addresses: row.allowed_addresses,
  ...(row.limits as StoredLimits),
  store: row.store,
  expires_at: row.expires_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
});

/** Unknown, revoked and expired keys are the same nothing. */
export async function findKey(db: Db, hash: Buffer, now: number): Promise<Key | undefined> {
  const row = await db
    .selectFrom('keys')
    .innerJoin('users', 'users.id', 'keys.user_id')
    .selectAll('keys')
    .select(['users.multiplier_ppm', 'users.limits as user_limits'])
    .where('hash', '=', hash)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (!row || (row.expires_at && row.expires_at.getTime() <= now)) return undefined;
  return toKey(row);
}

const toKey = (row: Selectable<Rows['keys']> & { multiplier_ppm: bigint; user_limits: unknown }): Key => ({
  id: row.id,
  userId: row.user_id,
  groupId: row.group_id,
  name: row.name,
  videoGroups: row.video_groups,
  allowedModels: row.allowed_models,
  allowedAddresses: row.allowed_addresses,
  limits: readLimits(row.limits as StoredLimits),
  userLimits: readLimits(row.user_limits as StoredLimits),
  expiresAt: row.expires_at?.getTime() ?? null,
  store: row.store,
  userMultiplierPpm: row.multiplier_ppm,
});
