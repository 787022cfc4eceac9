/** Users: list, create, change. Money is in balances.ts and credits.ts. */
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { fail, parsePpm, type StoredLimits } from '../core/index.ts';
import { type Rows, snapshot } from '../db/index.ts';
import { checkKeyGroups, writeAudit } from '../identity/index.ts';
import { UserEntry } from '../setup/index.ts';
import { sendJson } from '../web/index.ts';
import { factorText } from './catalog.ts';
import { notFound, operation } from './handler.ts';
import { limitChanges, mergeLimits } from './limits.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param } from './query-params.ts';

/** The fields of a configuration file without the balance: money is booked with a reason, in credits.ts. */
const NewUser = UserEntry.omit({ balance: true });
const UserChange = z.strictObject({
  email: NewUser.shape.email.nullable(),
  multiplier: NewUser.shape.multiplier,
  max_keys: NewUser.shape.max_keys,
  key_groups: NewUser.shape.key_groups.nullable(),
  ...limitChanges,
});

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
  async handle({ call, by, body: { id, email, multiplier, max_keys, key_groups, ...limits } }, { db }) {
    const created = await db.transaction().execute(async (tx) => {
      await checkKeyGroups(tx, key_groups ?? [], 'any', 'key_groups');
      const row = await tx
        .insertInto('users')
        .values({
          id,
          email: email ?? null,
          ...ppmColumn(multiplier),
          ...keyColumns({ max_keys, key_groups }),
          limits: JSON.stringify(mergeLimits({}, limits)),
        })
        .onConflict((conflict) => conflict.doNothing())
        .returningAll()
        .executeTakeFirst();
      if (!row) throw fail('conflict', `id: a user "${id}" already exists; use another id.`, { param: 'id' });
      await writeAudit(tx, by, { action: 'user.created', subject: `user:${id}`, after: viewOf(row) });
      return row;
    });
    sendJson(call, 201, { object: 'user', ...viewOf(created) });
  },
});

export const changeUser = operation({
  body: UserChange,
  async handle({ call, by, body }, { db }) {
    const id = call.params.user ?? '';
    const { email, multiplier, max_keys, key_groups, ...limits } = body;
    if (Object.values(body).every((value) => value === undefined)) throw fail('invalid_request', NOTHING_TO_UPDATE);
    const changed = await db.transaction().execute(async (tx) => {
      const before = await tx.selectFrom('users').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
      if (!before) throw notFound('user', id);
      await checkKeyGroups(tx, key_groups ?? [], 'any', 'key_groups');
      const after = await tx
        .updateTable('users')
        .set({
          ...(email !== undefined && { email }),
          ...ppmColumn(multiplier),
          ...keyColumns({ max_keys, key_groups }),
          limits: JSON.stringify(mergeLimits(before.limits as StoredLimits, limits)),
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      await writeAudit(tx, by, {
        action: 'user.changed',
        subject: `user:${id}`,
        before: viewOf(before),
        after: viewOf(after),
      });
      return after;
    });
    sendJson(call, 200, { object: 'user', ...viewOf(changed) });
  },
});

export const NOTHING_TO_UPDATE = 'Provide at least one field to update.';

const ppmColumn = (multiplier: string | undefined) =>
  multiplier === undefined ? {} : { multiplier_ppm: BigInt(parsePpm(multiplier) ?? 0) };

const keyColumns = ({
  max_keys,
  key_groups,
}: {
  readonly max_keys: number | undefined;
  readonly key_groups: string[] | null | undefined;
}) => ({ ...(max_keys !== undefined && { max_keys }), ...(key_groups !== undefined && { key_groups }) });

const viewOf = (row: Selectable<Rows['users']>) => ({
  id: row.id,
  email: row.email,
  multiplier: factorText(row.multiplier_ppm),
  max_keys: row.max_keys,
  key_groups: row.key_groups,
  ...(row.limits as StoredLimits),
  created_at: row.created_at.toISOString(),
});
