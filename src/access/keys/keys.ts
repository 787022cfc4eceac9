/** API keys as database rows. The value of a key is never stored; it is returned once, when the key is created. */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import * as core from '../../core/index.ts';
import { type Db, firstRow, type Row } from '../../platform/db/index.ts';
import { CALLBACK_INFO, type GroupOrder } from '../../rules/index.ts';
import { type KeyEntry, mergeLimits, ShownKey, shownGroups, shownRow, storedGroups } from '../../schemas/index.ts';

export interface Key {
  readonly id: string;
  /** The first of the keys that this one replaces, or its own id: they share what is spent. */
  readonly spendId: string;
  readonly userId: string;
  /** That its calls go to, in order; at least one. */
  readonly groups: readonly string[];
  readonly prefer: GroupOrder;
  readonly name: string;
  readonly videoGroups: readonly string[] | null;
  readonly allowedModels: readonly string[] | null;
  readonly allowedAddresses: readonly string[] | null;
  readonly limits: core.Limits | undefined;
  readonly userLimits: core.Limits | undefined;
  /** Video objects of a kind that the user may create per minute; null: the setting of the installation. */
  readonly videoCreates: number | null;
  /** Calls may name the end user whom they are for: the user is another gateway. */
  readonly hasEndUsers: boolean;
  readonly expiresAt: number | null;
  /** Whether responses are stored for `previous_response_id` and later reads. */
  readonly store: boolean;
  /** Whether converted calls get cache breakpoints where the client sets none. */
  readonly autoCache: boolean;
  /** Until when the bodies of its calls are kept; null: they are not. */
  readonly captureUntil: number | null;
  /** Factor on the price for this user, in parts per million. */
  readonly userMultiplierPpm: bigint;
  /** Only of a key whose value the database never had, because another gateway issued it; other keys have it stored. */
  readonly callbackSecret?: string;
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
  readonly sealer: core.Sealer;
}

export const hashKey = (token: string, pepper: Buffer): Buffer => core.hmac(pepper, token);

/**
 * Of a key known by its SHA-256 alone. No key has a space, so that none has the same hash: who knows the SHA-256 cannot
 * use the key.
 */
const hashForeignKey = (sha256: string, pepper: Buffer): Buffer => core.hmac(pepper, `sha256 ${sha256}`);

function givenHash({ key, key_sha256 }: KeyInput, { pepper }: KeySecrets): Buffer | undefined {
  if (key) return hashKey(key, pepper);
  return key_sha256 ? hashForeignKey(key_sha256, pepper) : undefined;
}

export interface SavedKey {
  readonly id: string;
  readonly change?: 'created' | 'changed';
  readonly value?: string;
  /** The given value is of a key that this one replaced, so this one keeps its newer value. */
  readonly isRotated?: boolean;
}

export async function saveKey(db: Db, input: KeyInput, secrets: KeySecrets): Promise<SavedKey> {
  const { user, group } = input;
  const stored = await firstRow(db)<Row<'keys'>>`
    select * from keys where user_id = ${user} and group_id = ${group} and name = ${nameOfKey(input)}`;
  if (!stored) return insertKey(db, input, secrets);
  const given = givenHash(input, secrets);
  const isNew = given !== undefined && !given.equals(stored.hash);
  const isRotated = isNew && (await isReplaced(db, given, stored));
  const columns = { ...settingsOf(input), ...(isNew && !isRotated && valueColumns(stored.id, input, secrets)) };
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
  const id = core.newId('key');
  const generated = givenHash(input, secrets) ? undefined : core.newKeyValue();
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
    .values({
      ...owner,
      ...settingsOf(input),
      ...valueColumns(id, { ...input, ...(generated && { key: generated }) }, secrets),
    })
    .execute();
  return { id, change: 'created', ...(generated !== undefined && { value: generated }) };
}

/** Columns of the given settings only: an absent setting keeps its stored value. */
function settingsOf(input: KeyInput) {
  const { video_groups, models, addresses, expires_at, prefer, store, auto_cache, ...entry } = input;
  const groups = storedGroups({ ...input, groups: input.groups ?? undefined });
  const limits = mergeLimits({}, entry);
  return {
    ...(video_groups && { video_groups: [...video_groups] }),
    ...(models && { allowed_models: [...models] }),
    ...(addresses && { allowed_addresses: [...addresses] }),
    ...(Object.keys(limits).length > 0 && { limits: JSON.stringify(limits) }),
    ...(expires_at && { expires_at: new Date(expires_at) }),
    ...(groups !== undefined && { groups }),
    ...(prefer && { prefer }),
    ...(typeof store === 'boolean' && { store }),
    ...(typeof auto_cache === 'boolean' && { auto_cache }),
  };
}

const isSame = (stored: unknown, wanted: unknown): boolean =>
  isDeepStrictEqual(stored, typeof wanted === 'string' && typeof stored === 'object' ? JSON.parse(wanted) : wanted);

function valueColumns(id: string, { key, key_sha256 }: KeyInput, { pepper, sealer }: KeySecrets) {
  const seal = (secret: string) => ({ callback_secret_sealed: sealer.seal(secret, `keys.callback_secret:${id}`) });
  if (key) return { hash: hashKey(key, pepper), hint: core.hintOf(key), ...seal(callbackSecretOf(key)) };
  const sha256 = key_sha256 ?? '';
  return { hash: hashForeignKey(sha256, pepper), hint: `sha256 ${sha256.slice(0, 8)}`, ...seal('') };
}

/** Derived from the value of the key alone (V 6 r5), which is available only when the key is created or used. */
const callbackSecretOf = (token: string): string => core.derive(token, CALLBACK_INFO).toString('base64');

/** False when the key does not exist or was revoked before. */
export async function markKeyRevoked(db: Db, id: string): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update keys set revoked_at = ${new Date()} where id = ${id} and revoked_at is null`.execute(db);
  return numAffectedRows > 0n;
}

function keyState({ revoked_at, expires_at }: Row<'keys'>, now: number): ShownKey['state'] {
  if (revoked_at) return 'revoked';
  return expires_at && expires_at.getTime() <= now ? 'expired' : 'valid';
}

export const keyView = (row: Row<'keys'>, now: number): ShownKey =>
  shownRow(ShownKey, row, {
    state: keyState(row, now),
    groups: shownGroups(row),
    models: row.allowed_models,
    addresses: row.allowed_addresses,
    ...(row.limits as core.StoredLimits),
    capture_until: row.capture_until && row.capture_until.getTime() > now ? row.capture_until.toISOString() : null,
    own: row.is_own,
  });

/**
 * Undefined for unknown, revoked and expired keys. One statement looks for both hashes, so that its time tells nothing
 * about either.
 */
export async function findKey(db: Db, token: string, pepper: Buffer, now: number): Promise<Key | undefined> {
  const foreign = hashForeignKey(hash('sha256', token, 'hex'), pepper);
  const row = await unrevoked(db)
    .where('hash', 'in', [hashKey(token, pepper), foreign])
    .executeTakeFirst();
  const key = liveKey(row, now);
  return key && row?.hash.equals(foreign) ? { ...key, callbackSecret: callbackSecretOf(token) } : key;
}

export const findKeyById = async (db: Db, id: string, now: number): Promise<Key | undefined> =>
  liveKey(await unrevoked(db).where('keys.id', '=', id).executeTakeFirst(), now);

export const findKeyOfUser = async (db: Db, userId: string, id: string, now: number): Promise<Key | undefined> =>
  liveKey(await unrevoked(db).where('keys.id', '=', id).where('user_id', '=', userId).executeTakeFirst(), now);

const unrevoked = (db: Db) =>
  db
    .selectFrom('keys')
    .innerJoin('users', 'users.id', 'keys.user_id')
    .selectAll('keys')
    .select(['users.multiplier_ppm', 'users.limits as user_limits', 'users.video_creates', 'users.end_users'])
    .where('revoked_at', 'is', null);

type KeyAndUser = Row<'keys'> &
  Pick<Row<'users'>, 'multiplier_ppm' | 'video_creates' | 'end_users'> & { readonly user_limits: unknown };

const liveKey = (row: KeyAndUser | undefined, now: number): Key | undefined =>
  row && !(row.expires_at && row.expires_at.getTime() <= now) ? toKey(row) : undefined;

const toKey = (row: KeyAndUser): Key => ({
  id: row.id,
  spendId: row.spend_id ?? row.id,
  userId: row.user_id,
  groups: shownGroups(row),
  prefer: row.prefer as GroupOrder,
  name: row.name,
  videoGroups: row.video_groups,
  allowedModels: row.allowed_models,
  allowedAddresses: row.allowed_addresses,
  limits: core.readLimits(row.limits as core.StoredLimits),
  userLimits: core.readLimits(row.user_limits as core.StoredLimits),
  videoCreates: row.video_creates,
  hasEndUsers: row.end_users,
  expiresAt: row.expires_at?.getTime() ?? null,
  store: row.store,
  autoCache: row.auto_cache,
  captureUntil: row.capture_until?.getTime() ?? null,
  userMultiplierPpm: row.multiplier_ppm,
});
