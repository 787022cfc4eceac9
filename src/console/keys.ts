/** Keys of the signed-in person's user. Keys of the operator can be replaced and revoked here, but not changed. */
import type { Selectable } from 'kysely';
import { z } from 'zod';
import {
  changeKey,
  newKeyInput,
  notFound,
  param,
  readJson,
  readQuery,
  rotateKey,
  sendKeys,
  sortedParams,
} from '../admin/index.ts';
import { fail } from '../core/index.ts';
import type { Rows } from '../db/index.ts';
import { createKey, keyView, revokeKey } from '../identity/index.ts';
import { KeyCapture, KeyChange, NewKey } from '../objects/index.ts';
import { personActor } from '../people/index.ts';
import { captureKey } from '../requests/index.ts';
import { type Call, sendJson } from '../web/index.ts';
import { expectGroup, expectRoom, openVideoGroups, readAllowance } from './key-allowance.ts';
import type { ConsoleServices, Owner } from './services.ts';

const KeysQuery = z.strictObject({ user: param.user, group: param.group, ...sortedParams('keys') });
const OneQuery = z.strictObject({ user: param.user });
const NO_QUERY = z.strictObject({});
const NO_BODY = z.strictObject({});

export async function listOwnKeys(services: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  const query = readQuery(call.query, KeysQuery);
  await sendKeys(call, { ...query, user: userId }, { ...services, extend: await styleAdder(services) });
}

export async function getOwnKey(services: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  const { db, clock } = services;
  readQuery(call.query, OneQuery);
  const id = call.params.key ?? '';
  const row = await db
    .selectFrom('keys')
    .selectAll()
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  if (!row) throw notFound('key', id);
  await sendKey(services, call, 200, keyView(row, clock.now()));
}

/** Adds the style of the group, on which examples of calls depend. */
async function styleAdder({ db }: ConsoleServices) {
  const groups = await db.selectFrom('groups').select(['id', 'style']).execute();
  const styles = new Map(groups.map(({ id, style }) => [id, style]));
  return <V extends { readonly group: string }>(view: V) => ({ ...view, style: styles.get(view.group) ?? null });
}

async function sendKey(
  services: ConsoleServices,
  call: Call,
  status: number,
  view: { readonly group: string; readonly value?: string | undefined },
): Promise<void> {
  const withStyle = await styleAdder(services);
  sendJson(call, status, { object: 'key', ...withStyle(view) });
}

const NewOwnKey = NewKey.omit({ user: true, video_groups: true });

export async function createOwnKey(services: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  const { db, clock, secrets } = services;
  const { userId } = owner;
  readQuery(call.query, NO_QUERY);
  const body = await readJson(call, NewOwnKey);
  const now = clock.now();
  const allowance = await readAllowance(db, userId);
  const videoGroups = await openVideoGroups(db, allowance);
  const input = { ...newKeyInput({ ...body, user: userId }), videoGroups, isOwn: true };
  const { view, value } = await createKey(db, input, {
    by: personActor(call, owner.session),
    now,
    secrets,
    check: async (tx) => {
      expectGroup(await readAllowance(tx, userId), body.group);
      await expectRoom(tx, userId, now);
    },
  });
  await sendKey(services, call, 201, { ...view, value });
}

const OwnKeyChange = KeyChange.omit({ video_groups: true });

export async function changeOwnKey(services: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  const { db, clock } = services;
  readQuery(call.query, NO_QUERY);
  const body = await readJson(call, OwnKeyChange);
  const view = await changeKey(db, call.params.key ?? '', body, {
    ...contextOf(call, owner, clock.now()),
    check: isOwn,
  });
  await sendKey(services, call, 200, view);
}

/** Otherwise a person could lift limits that the operator has set. */
function isOwn(_: unknown, key: Selectable<Rows['keys']>): void {
  if (!key.is_own)
    throw fail('not_permitted', 'Your operator made this key; only they can change it. You can replace or revoke it.');
}

/** A day is enough to deploy a new key. */
const MAX_OVERLAP_S = 86_400;
const RotateBody = z.strictObject({ overlap_seconds: z.number().int().min(0).max(MAX_OVERLAP_S).default(0) });
/** Replaced keys that are still valid, beyond the keys that the user may have. */
const SPARE_KEYS = 10;

export async function rotateOwnKey(services: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  const { db, clock, secrets } = services;
  readQuery(call.query, NO_QUERY);
  const { overlap_seconds } = await readJson(call, RotateBody);
  const now = clock.now();
  const rotated = await rotateKey(db, call.params.key ?? '', overlap_seconds, {
    ...contextOf(call, owner, now),
    secrets,
    check: (tx, key) => (key.is_own && overlap_seconds > 0 ? expectRoom(tx, owner.userId, now, SPARE_KEYS) : undefined),
  });
  await sendKey(services, call, 201, rotated);
}

export async function revokeOwnKey(services: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  const { db, clock } = services;
  readQuery(call.query, NO_QUERY);
  await readJson(call, NO_BODY);
  const { view } = await revokeKey(db, call.params.key ?? '', contextOf(call, owner, clock.now()));
  await sendKey(services, call, 200, view);
}

/** Of any key of the user: the bodies are the user's own. */
export async function captureOwnKey(services: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  const { db, clock } = services;
  readQuery(call.query, NO_QUERY);
  const { hours } = await readJson(call, KeyCapture);
  const view = await captureKey(db, call.params.key ?? '', hours, contextOf(call, owner, clock.now()));
  await sendKey(services, call, 200, view);
}

export const KEY_SCHEMAS = {
  'console.keys': { query: KeysQuery },
  'console.key': { query: OneQuery },
  'console.createKey': { query: NO_QUERY, body: NewOwnKey },
  'console.changeKey': { query: NO_QUERY, body: OwnKeyChange },
  'console.rotateKey': { query: NO_QUERY, body: RotateBody },
  'console.revokeKey': { query: NO_QUERY, body: NO_BODY },
  'console.captureKey': { query: NO_QUERY, body: KeyCapture },
};

/** Keys of other users do not exist for the person. */
const contextOf = (call: Call, { userId, session }: Owner, now: number) => ({
  by: personActor(call, session),
  now,
  owner: userId,
});
