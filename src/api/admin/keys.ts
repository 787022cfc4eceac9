/** API keys: list, create, change, revoke, rotate. The value of a key is only in the response that creates it. */
import { sql } from 'kysely';
import { z } from 'zod';
import * as keys from '../../access/keys/index.ts';
import { fail, notFound, type StoredLimits } from '../../core/index.ts';
import { captureKey } from '../../observe/request-log/index.ts';
import { countRows, type Db, likePattern, type Row, snapshot, sortedRows, type Tx } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import * as schemas from '../../schemas/index.ts';
import { type AdminServices, operation } from './handler.ts';
import { inGroup, matching } from './list.ts';
import { sendPage, sortedKey, sortedPage, sortedParams } from './pagination.ts';
import { params } from './query-params.ts';
import { expectChange, reason } from './request-body.ts';

const MAX_OVERLAP_S = 30 * 86_400;
const RotateBody = z.strictObject({
  overlap_seconds: z.number().int().min(0).max(MAX_OVERLAP_S).default(0).describe('how long the old key still works'),
});

const KeysQuery = z.strictObject({ ...params('user', 'group', 'name'), ...sortedParams('keys') });

export async function sendKeys(
  call: Call,
  { user, group, name, ...query }: z.output<typeof KeysQuery>,
  {
    db,
    clock,
    extend = (view) => view,
  }: Pick<AdminServices, 'db' | 'clock'> & { extend?: (view: schemas.ShownKey) => object },
): Promise<void> {
  const page = sortedPage('keys', query);
  const ofGroup = group === undefined ? sql`` : sql`and ${inGroup(group)}`;
  const named = name === undefined ? sql`` : sql`and name ilike ${likePattern(name)}`;
  const from = sql`select * from keys where ${matching({ user })} ${ofGroup} ${named}`;
  const [rows, count] = await snapshot(db, async (tx) => [
    await sortedRows<Row<'keys'>>(tx, { ...page, from, id: 'id' }),
    await countRows(tx, from),
  ]);
  sendPage(call, rows, {
    limit: query.limit,
    more: { count },
    view: (row) => extend(keys.keyView(row, clock.now())),
    key: (row) => sortedKey(row, row.id, page.order),
  });
}

interface KeyChangeContext {
  readonly by: keys.Actor;
  readonly now: number;
  /** With an owner, keys of other users do not exist. */
  readonly owner?: string;
  /** A further check of the stored key, in the transaction. */
  readonly check?: (tx: Tx, key: Row<'keys'>) => Promise<void> | void;
}

export function changeKey(
  db: Db,
  id: string,
  change: z.output<typeof schemas.KeyChange>,
  { by, now, owner, check }: KeyChangeContext,
): Promise<schemas.ShownKey> {
  expectChange(change);
  return db.transaction().execute(async (tx) => {
    const row = await keys.lockKey(tx, id, owner);
    await check?.(tx, row);
    const { groups, prefer, video_groups, models, addresses, expires_at, store, auto_cache } = change;
    await keys.checkKeyGroups(tx, groups ?? [], 'provider', 'groups');
    await keys.checkKeyGroups(tx, video_groups ?? [], 'video');
    const group = groups && !groups.includes(row.group_id) ? groups[0] : undefined;
    if (group !== undefined) await keys.checkKeyName(tx, { user: row.user_id, group, name: row.name });
    const changed = await tx
      .updateTable('keys')
      .set({
        ...(group !== undefined && { group_id: group }),
        ...(groups !== undefined && { groups: schemas.storedGroups({ group: group ?? row.group_id, groups }) ?? null }),
        ...(prefer !== undefined && { prefer }),
        ...(video_groups !== undefined && { video_groups }),
        ...(models !== undefined && { allowed_models: models }),
        ...(addresses !== undefined && { allowed_addresses: addresses }),
        ...(expires_at !== undefined && { expires_at }),
        ...(store !== undefined && { store }),
        ...(auto_cache !== undefined && { auto_cache }),
        limits: JSON.stringify(schemas.mergeLimits(row.limits as StoredLimits, change)),
      })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const [before, after] = [keys.keyView(row, now), keys.keyView(changed, now)];
    await keys.writeAudit(tx, by, { action: 'key.changed', subject: `key:${id}`, before, after });
    return after;
  });
}

/**
 * The new key gets the name, settings and spent amounts. The old one keeps its row, usage and secret until the overlap
 * ends.
 */
export function rotateKey(
  db: Db,
  id: string,
  overlapSeconds: number,
  { by, now, owner, check, secrets }: KeyChangeContext & { readonly secrets: keys.KeySecrets },
): Promise<schemas.ShownKey & { readonly value: string | undefined; readonly replaces: schemas.ShownKey }> {
  return db.transaction().execute(async (tx) => {
    const old = await keys.lockKey(tx, id, owner);
    await check?.(tx, old);
    if (keys.keyView(old, now).state !== 'valid')
      throw fail('conflict', 'The key is revoked or expired; create a new key instead.');
    const end = Math.min(now + overlapSeconds * 1000, old.expires_at?.getTime() ?? Number.POSITIVE_INFINITY);
    await tx
      .updateTable('keys')
      .set({ name: `${old.name.slice(0, 70)}~${old.id}`, expires_at: new Date(end) })
      .where('id', '=', id)
      .execute();
    const { id: newId, value } = await keys.saveKey(
      tx,
      { ...keys.keyView(old, now), spendId: old.spend_id ?? old.id, isOwn: old.is_own },
      secrets,
    );
    const [replaces, view] = [
      keys.keyView(await keys.lockKey(tx, id), now),
      keys.keyView(await keys.lockKey(tx, newId), now),
    ];
    await keys.writeAudit(tx, by, { action: 'key.rotated', subject: `key:${id}`, before: replaces, after: view });
    return { ...view, value, replaces };
  });
}

export const KEYS_OPERATIONS = {
  'admin.keys': operation({
    query: KeysQuery,
    handle: ({ call, query }, services) => sendKeys(call, query, services),
  }),
  'admin.key': operation({
    async handle({ id }, { db, clock }) {
      const row = await db.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst();
      if (!row) throw notFound('key', id);
      return { object: 'key', ...keys.keyView(row, clock.now()) };
    },
  }),
  'admin.createKey': operation({
    body: schemas.withGroup(schemas.NewKey),
    status: 201,
    async handle({ by, body }, { db, clock, secrets }) {
      const { view, value } = await keys.createKey(db, body, { by, now: clock.now(), secrets });
      return { object: 'key', ...view, value };
    },
  }),
  'admin.changeKey': operation({
    body: schemas.KeyChange,
    object: 'key',
    handle: ({ id, by, body }, { db, clock }) => changeKey(db, id, body, { by, now: clock.now() }),
  }),
  'admin.revokeKey': operation({
    body: z.strictObject({ reason: reason.optional() }),
    object: 'key',
    handle: async ({ id, by, body }, { db, clock }) =>
      (await keys.revokeKey(db, id, { by, now: clock.now(), reason: body.reason })).view,
  }),
  'admin.rotateKey': operation({
    body: RotateBody,
    status: 201,
    object: 'key',
    handle: ({ id, by, body: { overlap_seconds } }, { db, clock, secrets }) =>
      rotateKey(db, id, overlap_seconds, { by, now: clock.now(), secrets }),
  }),
  'admin.captureKey': operation({
    body: schemas.KeyCapture,
    object: 'key',
    handle: ({ id, by, body }, { db, clock }) => captureKey(db, id, body.hours, { by, now: clock.now() }),
  }),
};
