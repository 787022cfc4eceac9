/** Users: list, create, change. Money is in balances.ts and credits.ts. */
import { z } from 'zod';
import { type Actor, checkKeyGroups, writeAudit } from '../../access/keys/index.ts';
import { insertRow, saveRow, userRow } from '../../catalog/setup/index.ts';
import { fail, type StoredLimits } from '../../core/index.ts';
import { type Db, type Row, snapshot, type Tx } from '../../platform/db/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { membersOf, mergeLimits, NewUser, type ShownUser, UserChange } from '../../schemas/index.ts';
import { notFound, operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param } from './query-params.ts';

const UsersQuery = z.strictObject({ user: param.user, ...pageParams(rowKey.text) });

export const listUsers = operation({
  query: UsersQuery,
  async handle({ call, query: { user, limit, cursor } }, { db }) {
    const rows = await snapshot(db, (tx) => {
      let find = tx
        .selectFrom('users')
        .selectAll()
        .orderBy('id')
        .limit(limit + 1);
      if (cursor) find = find.where('id', '>', cursor[0]);
      if (user !== undefined) find = find.where('id', '=', user);
      return find.execute();
    });
    sendPage(call, rows, { limit, view: viewOf, key: ({ id }) => [id] });
  },
});

export const createUser = operation({
  body: NewUser,
  async handle({ call, by, body }, { db }) {
    const created = await db.transaction().execute((tx) => addUser(tx, body, by));
    sendJson(call, 201, { object: 'user', ...created });
  },
});

/** `path` goes before the name of a field in errors. */
export async function addUser(tx: Tx, user: z.output<typeof NewUser>, by: Actor, path = ''): Promise<ShownUser> {
  const { id, key_groups = [] } = user;
  await checkKeyGroups(tx, key_groups, 'any', `${path}key_groups`);
  if (!(await insertRow(tx, userRow(user, mergeLimits({}, user)))))
    throw fail('conflict', `${path}id: a user "${id}" already exists; use another id.`, { param: `${path}id` });
  const after = viewOf(await lockUser(tx, id));
  await writeAudit(tx, by, { action: 'user.created', subject: `user:${id}`, after });
  return after;
}

export const changeUser = operation({
  body: UserChange,
  async handle({ call, by, body }, { db }) {
    const id = call.params.user ?? '';
    if (Object.values(body).every((value) => value === undefined)) throw fail('invalid_request', NOTHING_TO_UPDATE);
    const changed = await db.transaction().execute(async (tx) => {
      const stored = await lockUser(tx, id);
      await checkKeyGroups(tx, body.key_groups ?? [], 'any', 'key_groups');
      await saveRow(tx, userRow({ ...body, id }, mergeLimits(stored.limits as StoredLimits, body)));
      const [before, after] = [viewOf(stored), viewOf(await lockUser(tx, id))];
      await writeAudit(tx, by, { action: 'user.changed', subject: `user:${id}`, before, after });
      return after;
    });
    sendJson(call, 200, { object: 'user', ...changed });
  },
});

async function lockUser(tx: Db, id: string): Promise<Row<'users'>> {
  const row = await tx.selectFrom('users').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
  if (!row) throw notFound('user', id);
  return row;
}

export const NOTHING_TO_UPDATE = 'Provide at least one field to update.';

const viewOf = ({ limits, ...row }: Row<'users'>): ShownUser => ({
  ...membersOf(row),
  ...(limits as StoredLimits),
});
