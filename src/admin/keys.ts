/** API keys: made, changed, revoked, rotated, listed. A value is in the answer that made it and nowhere else. */
import type { Selectable, Transaction } from 'kysely';
import { z } from 'zod';
import { fail, type StoredLimits } from '../core/index.ts';
import { type Rows, snapshot } from '../db/index.ts';
import { keyView, revokeKey, saveKey, writeAudit } from '../identity/index.ts';
import { KeyEntry } from '../setup/index.ts';
import { sendJson } from '../web/index.ts';
import { type AdminHandler, notFound } from './handler.ts';
import { changedLimits, limitChanges } from './limits.ts';
import { sendPage } from './pagination.ts';
import { line, readJson } from './request-body.ts';

type KeyRow = Selectable<Rows['keys']>;
type Tx = Transaction<Rows>;

/** The same fields as in a configuration, but for the value: it is always made here. */
const NewKey = KeyEntry.omit({ key: true });
const { video_groups, expires_at, models, addresses, store } = KeyEntry.shape;
/** Null takes a limit away; what is absent stays. */
const KeyChange = z.strictObject({
  video_groups: video_groups.nullable(),
  expires_at: expires_at.nullable(),
  models: models.nullable(),
  addresses: addresses.nullable(),
  store,
  ...limitChanges,
});
const Revoke = z.strictObject({ reason: line(500).optional() });
const MAX_OVERLAP_S = 30 * 86_400;
const Rotate = z.strictObject({ overlap_seconds: z.number().int().min(0).max(MAX_OVERLAP_S).default(0) });

export const listKeys: AdminHandler = async ({ call, query }, { db, clock }) => {
  const { limit } = query;
  const [after] = query.cursor(1) ?? [];
  const [user, group] = [query.text('user'), query.text('group')];
  const rows = await snapshot(db, (tx) => {
    let find = tx
      .selectFrom('keys')
      .selectAll()
      .orderBy('id')
      .limit(limit + 1);
    if (after !== undefined) find = find.where('id', '>', after);
    if (user !== undefined) find = find.where('user_id', '=', user);
    if (group !== undefined) find = find.where('group_id', '=', group);
    return find.execute();
  });
  sendPage(call, rows, limit, { view: (row) => keyView(row, clock.now()), key: ({ id }) => [id] });
};

export const createKey: AdminHandler = async ({ call, by }, { db, clock, secrets }) => {
  const { user, group, name = 'default', ...given } = await readJson(call, NewKey);
  const { made, view } = await db.transaction().execute(async (tx) => {
    await checkOwner(tx, user, group, given.video_groups ?? []);
    const taken = await tx
      .selectFrom('keys')
      .select('id')
      .where('user_id', '=', user)
      .where('group_id', '=', group)
      .where('name', '=', name)
      .executeTakeFirst();
    if (taken) throw fail('conflict', `name: ${user} has a key "${name}" for ${group} already.`, { param: 'name' });
    const limits = changedLimits({}, given);
    const { id, made } = await saveKey(
      tx,
      {
        user,
        group,
        name,
        videoGroups: given.video_groups,
        allowedModels: given.models,
        allowedAddresses: given.addresses,
        store: given.store,
        limits,
        expiresAt: given.expires_at === undefined ? undefined : new Date(given.expires_at),
      },
      secrets,
    );
    const view = keyView(await find(tx, id), clock.now());
    await writeAudit(tx, by, { action: 'key.created', subject: `key:${id}`, after: view });
    return { made, view };
  });
  sendJson(call, 201, { object: 'key', ...view, value: made });
};

/** The user's row is kept from changing meanwhile, so that two of the same name follow one another. */
async function checkOwner(tx: Tx, user: string, group: string, videoGroups: readonly string[]): Promise<void> {
  const owner = await tx.selectFrom('users').select('id').where('id', '=', user).forUpdate().executeTakeFirst();
  if (!owner) throw notFound('user', user, 'user');
  await checkGroups(tx, [group], 'provider', 'group');
  await checkGroups(tx, videoGroups, 'video', 'video_groups');
}

async function checkGroups(tx: Tx, ids: readonly string[], kind: 'provider' | 'video', param: string): Promise<void> {
  const groups = await tx.selectFrom('groups').select(['id', 'style']).execute();
  const fits = groups.filter(({ style }) => (style === 'video') === (kind === 'video')).map(({ id }) => id);
  const stranger = ids.find((id) => !fits.includes(id));
  if (stranger !== undefined) throw notFound(`${kind} group`, stranger, param);
}

export const changeKey: AdminHandler = async ({ call, by }, { db, clock }) => {
  const id = call.params.key ?? '';
  const given = await readJson(call, KeyChange);
  if (Object.keys(given).length === 0) throw fail('invalid_request', 'The body names nothing to change.');
  const view = await db.transaction().execute(async (tx) => {
    const row = await find(tx, id);
    await checkGroups(tx, given.video_groups ?? [], 'video', 'video_groups');
    const { video_groups, models, addresses, expires_at, store } = given;
    const changed = await tx
      .updateTable('keys')
      .set({
        ...(video_groups !== undefined && { video_groups }),
        ...(models !== undefined && { allowed_models: models }),
        ...(addresses !== undefined && { allowed_addresses: addresses }),
        ...(expires_at !== undefined && { expires_at }),
        ...(store !== undefined && { store }),
        limits: JSON.stringify(changedLimits(row.limits as StoredLimits, given)),
      })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const [before, after] = [keyView(row, clock.now()), keyView(changed, clock.now())];
    await writeAudit(tx, by, { action: 'key.changed', subject: `key:${id}`, before, after });
    return after;
  });
  sendJson(call, 200, { object: 'key', ...view });
};

export const revokeOne: AdminHandler = async ({ call, by }, { db, clock }) => {
  const id = call.params.key ?? '';
  const { reason } = await readJson(call, Revoke);
  const view = await db.transaction().execute(async (tx) => {
    await find(tx, id);
    // A second time is no change, and no second line.
    if (await revokeKey(tx, id))
      await writeAudit(tx, by, { action: 'key.revoked', subject: `key:${id}`, after: { reason: reason ?? null } });
    return keyView(await find(tx, id), clock.now());
  });
  sendJson(call, 200, { object: 'key', ...view });
};

/**
 * The new key takes the name and the settings; the old one keeps its own row, so that its usage and the secret of its callbacks stay
 * what they are, and ends after the overlap.
 */
export const rotateKey: AdminHandler = async ({ call, by }, { db, clock, secrets }) => {
  const id = call.params.key ?? '';
  const { overlap_seconds } = await readJson(call, Rotate);
  const answer = await db.transaction().execute(async (tx) => {
    const old = await find(tx, id);
    const now = clock.now();
    if (keyView(old, now).state !== 'valid') throw fail('conflict', 'Only a valid key can be rotated.');
    const end = Math.min(now + overlap_seconds * 1000, old.expires_at?.getTime() ?? Number.POSITIVE_INFINITY);
    await tx
      .updateTable('keys')
      .set({ name: `${old.name.slice(0, 70)}~${old.id}`, expires_at: new Date(end) })
      .where('id', '=', id)
      .execute();
    const { id: newId, made } = await saveKey(tx, inputOf(old), secrets);
    const [replaces, view] = [keyView(await find(tx, id), now), keyView(await find(tx, newId), now)];
    await writeAudit(tx, by, { action: 'key.rotated', subject: `key:${id}`, before: replaces, after: view });
    return { ...view, value: made, replaces };
  });
  sendJson(call, 201, { object: 'key', ...answer });
};

const inputOf = (row: KeyRow) => ({
  user: row.user_id,
  group: row.group_id,
  name: row.name,
  videoGroups: row.video_groups ?? undefined,
  allowedModels: row.allowed_models ?? undefined,
  allowedAddresses: row.allowed_addresses ?? undefined,
  store: row.store,
  limits: row.limits as StoredLimits,
  expiresAt: row.expires_at ?? undefined,
});

async function find(tx: Tx, id: string): Promise<KeyRow> {
  const row = await tx.selectFrom('keys').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
  if (!row) throw notFound('key', id);
  return row;
}
