/**
 * Creates and revokes API keys for an operator: checks, change and audit line in one transaction. Used by the admin API
 * and the CLI.
 */
import { sql } from 'kysely';
import { failAt, notFound, shownId } from '../../core/index.ts';
import type { Db, Row, Tx } from '../../platform/db/index.ts';
import { type Actor, writeAudit } from './audit.ts';
import { type KeyInput, type KeySecrets, keyView, markKeyRevoked, nameOfKey, saveKey } from './keys.ts';

type KeyView = ReturnType<typeof keyView>;

interface OperationContext {
  readonly by: Actor;
  readonly now: number;
}

export interface CreateKeyContext extends OperationContext {
  readonly secrets: KeySecrets;
  readonly createUser?: boolean;
  /** A further check in the transaction, after the user is locked. */
  readonly check?: (tx: Tx) => Promise<void>;
}

export interface CreatedKey {
  readonly view: KeyView;
  /** Shown once; it is not stored. */
  readonly value: string;
}

export function createKey(db: Db, input: KeyInput, context: CreateKeyContext): Promise<CreatedKey> {
  const { by, now, secrets, createUser = false, check } = context;
  return db.transaction().execute(async (tx) => {
    if (createUser) await insertUser(tx, input.user, by);
    await lockUser(tx, input.user);
    await checkKeyGroups(tx, [input.group], 'provider');
    await checkKeyGroups(tx, input.groups ?? [], 'provider', 'groups');
    await checkKeyGroups(tx, input.video_groups ?? [], 'video');
    await checkKeyName(tx, input);
    await check?.(tx);
    const { id, value = '' } = await saveKey(tx, input, secrets);
    const view = keyView(await lockKey(tx, id), now);
    await writeAudit(tx, by, { action: 'key.created', subject: `key:${id}`, after: view });
    return { view, value };
  });
}

async function insertUser(tx: Tx, id: string, by: Actor): Promise<void> {
  const { numAffectedRows } = await sql`insert into users (id) values (${id}) on conflict do nothing`.execute(tx);
  if (numAffectedRows) await writeAudit(tx, by, { action: 'user.created', subject: `user:${id}` });
}

/** The lock serialises concurrent requests for keys of the same name. */
async function lockUser(tx: Tx, id: string): Promise<void> {
  const user = await tx.selectFrom('users').select('id').where('id', '=', id).forUpdate().executeTakeFirst();
  if (!user) throw failAt('object_not_found', 'user', `there is no user "${shownId(id)}".`);
}

/** Rejects ids of groups that do not exist or are of the other kind. `param` is the field of the ids. */
export async function checkKeyGroups(
  tx: Tx,
  ids: readonly string[],
  kind: 'provider' | 'video' | 'any',
  param = kind === 'video' ? 'video_groups' : 'group',
): Promise<void> {
  const groups = await tx.selectFrom('groups').select(['id', 'style']).orderBy('position').orderBy('id').execute();
  const known = groups
    .filter(({ style }) => kind === 'any' || (style === 'video') === (kind === 'video'))
    .map((group) => group.id);
  const unknown = ids.find((id) => !known.includes(id));
  if (unknown === undefined) return;
  const advice = known.length === 0 ? 'apply a configuration first' : `choose one of ${known.join(', ')}`;
  const group = kind === 'any' ? 'group' : `${kind} group`;
  throw failAt('object_not_found', param, `there is no ${group} "${shownId(unknown)}"; ${advice}.`);
}

export async function checkKeyName(
  tx: Tx,
  { user, group, ...input }: Pick<KeyInput, 'user' | 'group' | 'name'>,
): Promise<void> {
  const name = nameOfKey(input);
  const { rows } = await sql`
    select from keys where user_id = ${user} and group_id = ${group} and name = ${name}`.execute(tx);
  if (rows.length > 0)
    throw failAt('conflict', 'name', `${user} already has a key "${name}" for ${group}; choose another name.`);
}

/** A second request changes nothing and writes no audit line; `isNew` is false then. */
export function revokeKey(
  db: Db,
  id: string,
  { by, now, reason, owner }: OperationContext & { readonly reason?: string | undefined; readonly owner?: string },
): Promise<{ readonly view: KeyView; readonly isNew: boolean }> {
  return db.transaction().execute(async (tx) => {
    await lockKey(tx, id, owner);
    const isNew = await markKeyRevoked(tx, id);
    if (isNew)
      await writeAudit(tx, by, { action: 'key.revoked', subject: `key:${id}`, after: { reason: reason ?? null } });
    return { view: keyView(await lockKey(tx, id), now), isNew };
  });
}

/** With `owner`, keys of other users do not exist. */
export async function lockKey(tx: Tx, id: string, owner?: string): Promise<Row<'keys'>> {
  let find = tx.selectFrom('keys').selectAll().where('id', '=', id);
  if (owner !== undefined) find = find.where('user_id', '=', owner);
  const row = await find.forUpdate().executeTakeFirst();
  if (!row) throw notFound('key', id);
  return row;
}
