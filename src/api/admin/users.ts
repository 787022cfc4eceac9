/** Users: list, create, change. Money is in balances.ts and credits.ts. */
import { sql } from 'kysely';
import type { z } from 'zod';
import { type Actor, checkKeyGroups, writeAudit } from '../../access/keys/index.ts';
import { beginErasure, readErasure } from '../../access/people/index.ts';
import { insertRow, saveRow, userRow } from '../../catalog/setup/index.ts';
import { fail, failAt, notFound, type StoredLimits } from '../../core/index.ts';
import type { Db, Row, Tx } from '../../platform/db/index.ts';
import { ErasureRequest, membersOf, mergeLimits, NewUser, type ShownUser, UserChange } from '../../schemas/index.ts';
import { sendExport } from './export.ts';
import { operation } from './handler.ts';
import { listOperation } from './list.ts';
import { param } from './query-params.ts';
import { expectChange } from './request-body.ts';

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

async function lockUser(tx: Db, id: string): Promise<Row<'users'>> {
  const row = await tx.selectFrom('users').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
  if (!row) throw notFound('user', id);
  return row;
}

function viewOf(row: Row<'users'>): ShownUser {
  const { user_id: _, limits, ...columns }: Row<'users'> & { readonly user_id?: string } = row;
  return { ...membersOf(columns), ...(limits as StoredLimits) };
}

export const USERS_OPERATIONS = {
  'admin.users': listOperation({
    filters: { user: param.user },
    order: 'id',
    from: sql<Row<'users'>>`select *, id as user_id from users`,
    view: viewOf,
  }),
  'admin.createUser': operation({
    body: NewUser,
    status: 201,
    object: 'user',
    handle: ({ by, body }, { db }) => db.transaction().execute((tx) => addUser(tx, body, by)),
  }),
  'admin.changeUser': operation({
    body: UserChange,
    object: 'user',
    handle({ id, by, body }, { db }) {
      expectChange(body);
      return db.transaction().execute(async (tx) => {
        const stored = await lockUser(tx, id);
        await checkKeyGroups(tx, body.key_groups ?? [], 'any', 'key_groups');
        await saveRow(tx, userRow({ ...body, id }, mergeLimits(stored.limits as StoredLimits, body)));
        const [before, after] = [viewOf(stored), viewOf(await lockUser(tx, id))];
        await writeAudit(tx, by, { action: 'user.changed', subject: `user:${id}`, before, after });
        return after;
      });
    },
  }),
  'admin.eraseUser': operation({
    body: ErasureRequest,
    async handle({ id, by, body }, { db }) {
      if (!body.dry_run) {
        if (body.confirm !== id)
          throw failAt('invalid_request', 'confirm', `expected "${id.slice(0, 80)}", the id of the user to erase.`);
        await beginErasure(db, id, by);
      }
      return readErasure(db, id);
    },
  }),
  'admin.exportUser': operation({
    handle: ({ call, id, by }, services) => sendExport(call, { userId: id, by, audience: 'operator' }, services),
  }),
};
