/** API keys as database rows. The value of a key is never stored; it is returned once, when the key is created. */
import { isDeepStrictEqual } from 'node:util';
import {
  derive,
  hintOf,
  hmac,
  type Limits,
  newId,
  newKeyValue,
  readLimits,
  type Sealer,
  type StoredLimits,
} from '../../core/index.ts';
import type { Db, Row } from '../../platform/db/index.ts';
import { CALLBACK_INFO } from '../../rules/index.ts';
import { type KeyEntry, mergeLimits, ShownKey, shownRow } from '../../schemas/index.ts';

/** The settings of a key that the gateway needs during a call. */
export interface Key {
  readonly id: string;
  /** The first of the keys that this one replaces, or its own id: they share what is spent. */
  readonly spendId: string;
  readonly userId: string;
  readonly groupId: string;
  readonly name: string;
  readonly videoGroups: readonly string[] | null;
  readonly allowedModels: readonly string[] | null;
  readonly allowedAddresses: readonly string[] | null;
  readonly limits: Limits | undefined;
  /** Shared by all keys of the user. */
  readonly userLimits: Limits | undefined;
  readonly expiresAt: number | null;
  /** Whether responses are stored for `previous_response_id` and later reads. */
  readonly store: boolean;
  /** Whether converted calls get cache breakpoints where the client sets none. */
  readonly autoCache: boolean;
  /** Until when the bodies of its calls are kept; null: they are not. */
  readonly captureUntil: number | null;
  /** Factor on the price for this user, in parts per million. */
  readonly userMultiplierPpm: bigint;
}

type Settings = { readonly [K in keyof KeyEntry]?: Readonly<KeyEntry[K]> | null };

/** As in the configuration file; null is as absent. `key` is a value chosen by the operator. */
export interface KeyInput extends Omit<Settings, 'user' | 'group'> {
  readonly user: string;
  readonly group: string;
  /** The `spendId` of the key that a new one replaces. */
  readonly spendId?: string;
  /** A person of the user makes it in the console, and may change it. */
  readonly isOwn?: boolean;
}

export const nameOfKey = ({ name }: Pick<KeyInput, 'name'>): string => name ?? 'default';

export interface KeySecrets {
  readonly pepper: Buffer;
  readonly sealer: Sealer;
}

export const hashKey = (token: string, pepper: Buffer): Buffer => hmac(pepper, token);

export interface SavedKey {
  readonly id: string;
  /** Absent when the stored key already matched. */
  readonly change?: 'created' | 'changed';
  /** Only for a generated value. */
  readonly value?: string;
  /** The given value is of a key that this one replaced, so this one keeps its newer value. */
  readonly isRotated?: boolean;
}

/** Creates the key, or updates the key of the same user, group and name. */
export async function saveKey(db: Db, input: KeyInput, secrets: KeySecrets): Promise<SavedKey> {
  const stored = await db
    .selectFrom('keys')
    .selectAll()
    .where('user_id', '=', input.user)
    .where('group_id', '=', input.group)
    .where('name', '=', nameOfKey(input))
    .executeTakeFirst();
  if (!stored) return insertKey(db, input, secrets);
  const given = input.key ?? undefined;
  const isNew = given !== undefined && !hashKey(given, secrets.pepper).equals(stored.hash);
  const isRotated = isNew && (await isReplaced(db, hashKey(given, secrets.pepper), stored));
  const token = isNew && !isRotated ? given : undefined;
  const columns = { ...settingsOf(input), ...(token !== undefined && tokenColumns(stored.id, token, secrets)) };
  const changed = Object.entries(columns).filter(
    ([name, value]) => !isSame(stored[name as keyof typeof stored], value),
  );
  if (changed.length === 0) return { id: stored.id, isRotated };
  await db.updateTable('keys').set(Object.fromEntries(changed)).where('id', '=', stored.id).execute();
  return { id: stored.id, change: 'changed', isRotated };
}

/** A key and those that it replaced count their spending under the id of the first. */
async function isReplaced(db: Db, hash: Buffer, key: Row<'keys'>): Promise<boolean> {
  const holder = await db.selectFrom('keys').select(['id', 'spend_id']).where('hash', '=', hash).executeTakeFirst();
  return holder !== undefined && (holder.spend_id ?? holder.id) === (key.spend_id ?? key.id);
}

async function insertKey(db: Db, input: KeyInput, secrets: KeySecrets): Promise<SavedKey> {
  const id = newId('key');
  const token = input.key ?? newKeyValue();
  const owner = {
    id,
    user_id: input.user,
    group_id: input.group,
    name: nameOfKey(input),
    spend_id: input.spendId ?? null,
    is_own: input.isOwn ?? false,
  };
  await db
    .insertInto('keys')
    .values({ ...owner, ...settingsOf(input), ...tokenColumns(id, token, secrets) })
    .execute();
  return { id, change: 'created', ...(input.key === undefined && { value: token }) };
}

/** Columns of the given settings only: an absent setting keeps its stored value. */
function settingsOf({ video_groups, models, addresses, expires_at, store, auto_cache, ...entry }: KeyInput) {
  const limits = mergeLimits({}, entry);
  return {
    ...(video_groups && { video_groups: [...video_groups] }),
    ...(models && { allowed_models: [...models] }),
    ...(addresses && { allowed_addresses: [...addresses] }),
    ...(Object.keys(limits).length > 0 && { limits: JSON.stringify(limits) }),
    ...(expires_at && { expires_at: new Date(expires_at) }),
    ...(typeof store === 'boolean' && { store }),
    ...(typeof auto_cache === 'boolean' && { auto_cache }),
  };
}

const isSame = (stored: unknown, wanted: unknown): boolean =>
  isDeepStrictEqual(stored, typeof wanted === 'string' && typeof stored === 'object' ? JSON.parse(wanted) : wanted);

function tokenColumns(id: string, token: string, { pepper, sealer }: KeySecrets) {
  // Derived from the value of the key alone (V 6 r5), which is available only when the key is created.
  const callbackSecret = derive(token, CALLBACK_INFO).toString('base64');
  return {
    hash: hashKey(token, pepper),
    hint: hintOf(token),
    callback_secret_sealed: sealer.seal(callbackSecret, `keys.callback_secret:${id}`),
  };
}

/** False when the key does not exist or was revoked before. */
export async function markKeyRevoked(db: Db, id: string): Promise<boolean> {
  const result = await db
    .updateTable('keys')
    .set({ revoked_at: new Date() })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** The public form of a key, without its value and secrets. */
export const keyView = (row: Row<'keys'>, now: number): ShownKey =>
  shownRow(ShownKey, row, {
    state: row.revoked_at ? 'revoked' : row.expires_at && row.expires_at.getTime() <= now ? 'expired' : 'valid',
    models: row.allowed_models,
    addresses: row.allowed_addresses,
    ...(row.limits as StoredLimits),
    capture_until: row.capture_until && row.capture_until.getTime() > now ? row.capture_until.toISOString() : null,
    own: row.is_own,
  });

/** Undefined for unknown, revoked and expired keys. */
export const findKey = async (db: Db, hash: Buffer, now: number): Promise<Key | undefined> =>
  liveKey(await unrevoked(db).where('hash', '=', hash).executeTakeFirst(), now);

/** A key by its id, for operators. */
export const findKeyById = async (db: Db, id: string, now: number): Promise<Key | undefined> =>
  liveKey(await unrevoked(db).where('keys.id', '=', id).executeTakeFirst(), now);

/** A key by its id, for its own user alone. */
export const findKeyOfUser = async (db: Db, userId: string, id: string, now: number): Promise<Key | undefined> =>
  liveKey(await unrevoked(db).where('keys.id', '=', id).where('user_id', '=', userId).executeTakeFirst(), now);

const unrevoked = (db: Db) =>
  db
    .selectFrom('keys')
    .innerJoin('users', 'users.id', 'keys.user_id')
    .selectAll('keys')
    .select(['users.multiplier_ppm', 'users.limits as user_limits'])
    .where('revoked_at', 'is', null);

type KeyAndUser = Row<'keys'> & { readonly multiplier_ppm: bigint; readonly user_limits: unknown };

function liveKey(row: KeyAndUser | undefined, now: number): Key | undefined {
  if (!row || (row.expires_at && row.expires_at.getTime() <= now)) return undefined;
  return toKey(row);
}

const toKey = (row: KeyAndUser): Key => ({
  id: row.id,
  spendId: row.spend_id ?? row.id,
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
  autoCache: row.auto_cache,
  captureUntil: row.capture_until?.getTime() ?? null,
  userMultiplierPpm: row.multiplier_ppm,
});
