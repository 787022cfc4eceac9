/** Keys of the signed-in person's user. Keys of the operator can be replaced and revoked here, but not changed. */
import { z } from 'zod';
import { createKey, keyView, revokeKey } from '../../access/keys/index.ts';
import { fail, notFound } from '../../core/index.ts';
import { captureKey } from '../../observe/request-log/index.ts';
import type { Row } from '../../platform/db/index.ts';
import { KeyCapture, KeyChange, NewKey, withGroup } from '../../schemas/index.ts';
import { changeKey, param, rotateKey, sendKeys, sortedParams } from '../admin/index.ts';
import { expectGroups, expectRoom, openVideoGroups, readAllowance } from './key-allowance.ts';
import { type ConsoleServices, ONLY_USER, ownOperation } from './services.ts';

const KeysQuery = z.strictObject({ user: param.user, group: param.group, ...sortedParams('keys') });

/** Adds the style of the group, on which examples of calls depend. */
async function styleAdder({ db }: ConsoleServices) {
  const groups = await db.selectFrom('groups').select(['id', 'style']).execute();
  const styles = new Map(groups.map(({ id, style }) => [id, style]));
  return <V extends { readonly group: string }>(view: V) => ({ ...view, style: styles.get(view.group) ?? null });
}

const keyReply = async (
  services: ConsoleServices,
  view: { readonly group: string; readonly value?: string | undefined },
) => ({ object: 'key', ...(await styleAdder(services))(view) });

/** Otherwise a person could lift limits that the operator has set. */
function isOwn(key: Row<'keys'>): void {
  if (!key.is_own)
    throw fail('not_permitted', 'Your operator made this key; only they can change it. You can replace or revoke it.');
}

/** A day is enough to deploy a new key. */
const MAX_OVERLAP_S = 86_400;
const RotateBody = z.strictObject({ overlap_seconds: z.number().int().min(0).max(MAX_OVERLAP_S).default(0) });
/** Replaced keys that are still valid, beyond the keys that the user may have. */
const SPARE_KEYS = 10;

export const OWN_KEYS = {
  'console.keys': ownOperation({
    query: KeysQuery,
    async handle({ call, query, userId }, services) {
      await sendKeys(call, { ...query, user: userId }, { ...services, extend: await styleAdder(services) });
    },
  }),
  'console.key': ownOperation({
    query: ONLY_USER,
    async handle({ id, userId }, services) {
      const { db, clock } = services;
      const own = db.selectFrom('keys').selectAll().where('user_id', '=', userId);
      const row = await own.where('id', '=', id).executeTakeFirst();
      if (!row) throw notFound('key', id);
      return keyReply(services, keyView(row, clock.now()));
    },
  }),
  'console.createKey': ownOperation({
    body: withGroup(NewKey.omit({ user: true, video_groups: true })),
    status: 201,
    async handle({ body, by, userId }, services) {
      const { db, clock, secrets } = services;
      const now = clock.now();
      const allowance = await readAllowance(db, userId);
      const videoGroups = await openVideoGroups(db, allowance);
      const input = { ...body, user: userId, video_groups: videoGroups ?? null, isOwn: true };
      const { view, value } = await createKey(db, input, {
        by,
        now,
        secrets,
        check: async (tx) => {
          expectGroups(await readAllowance(tx, userId), body.groups ?? [body.group]);
          await expectRoom(tx, userId, now);
        },
      });
      return keyReply(services, { ...view, value });
    },
  }),
  'console.changeKey': ownOperation({
    body: KeyChange.omit({ video_groups: true }),
    async handle({ id, body, by, userId }, services) {
      const { db, clock } = services;
      const view = await changeKey(db, id, body, {
        by,
        owner: userId,
        now: clock.now(),
        check: async (tx, key) => {
          isOwn(key);
          expectGroups(await readAllowance(tx, userId), body.groups ?? []);
        },
      });
      return keyReply(services, view);
    },
  }),
  'console.rotateKey': ownOperation({
    body: RotateBody,
    status: 201,
    async handle({ id, body: { overlap_seconds }, by, userId }, services) {
      const { db, clock, secrets } = services;
      const now = clock.now();
      const rotated = await rotateKey(db, id, overlap_seconds, {
        by,
        owner: userId,
        now,
        secrets,
        check: (tx, key) => (key.is_own && overlap_seconds > 0 ? expectRoom(tx, userId, now, SPARE_KEYS) : undefined),
      });
      return keyReply(services, rotated);
    },
  }),
  'console.revokeKey': ownOperation({
    body: z.strictObject({}),
    async handle({ id, by, userId }, services) {
      const { view } = await revokeKey(services.db, id, { by, owner: userId, now: services.clock.now() });
      return keyReply(services, view);
    },
  }),
  /** Of any key of the user: the bodies are the user's own. */
  'console.captureKey': ownOperation({
    body: KeyCapture,
    async handle({ id, body: { hours }, by, userId }, services) {
      const context = { by, owner: userId, now: services.clock.now() };
      return keyReply(services, await captureKey(services.db, id, hours, context));
    },
  }),
};
