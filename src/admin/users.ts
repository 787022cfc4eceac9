/** Users: made, changed, listed. Their money is in balances.ts and credits.ts. */
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { fail, parsePpm, type StoredLimits } from '../core/index.ts';
import { type Rows, snapshot } from '../db/index.ts';
import { writeAudit } from '../identity/index.ts';
import { UserEntry } from '../setup/index.ts';
import { sendJson } from '../web/index.ts';
import { factorText } from './catalog.ts';
import { type AdminHandler, notFound } from './handler.ts';
import { changedLimits, limitChanges, namesLimits } from './limits.ts';
import { sendPage } from './pagination.ts';
import { readJson } from './request-body.ts';

/** The same fields as in a configuration, but for money: that is booked, with a reason. */
const NewUser = UserEntry.omit({ balance: true });
const UserChange = z.strictObject({
  email: NewUser.shape.email.nullable(),
  multiplier: NewUser.shape.multiplier,
  ...limitChanges,
});

export const listUsers: AdminHandler = async ({ call, query }, { db }) => {
  const { limit } = query;
  const [after] = query.cursor(1) ?? [];
  const user = query.text('user');
  const rows = await snapshot(db, (tx) => {
    let find = tx
      .selectFrom('users')
      .selectAll()
      .orderBy('id')
      .limit(limit + 1);
    if (after !== undefined) find = find.where('id', '>', after);
    if (user !== undefined) find = find.where('id', '=', user);
    return find.execute();
  });
  sendPage(call, rows, limit, { view: viewOf, key: ({ id }) => [id] });
};

export const createUser: AdminHandler = async ({ call, by }, { db }) => {
  const { id, email, multiplier, ...limits } = await readJson(call, NewUser);
  const made = await db.transaction().execute(async (tx) => {
    const row = await tx
      .insertInto('users')
      .values({ id, email: email ?? null, ...ppmOf(multiplier), limits: JSON.stringify(changedLimits({}, limits)) })
      .onConflict((conflict) => conflict.doNothing())
      .returningAll()
      .executeTakeFirst();
    if (!row) throw fail('conflict', `id: there is a user "${id}" already.`, { param: 'id' });
    await writeAudit(tx, by, { action: 'user.created', subject: `user:${id}`, after: viewOf(row) });
    return row;
  });
  sendJson(call, 201, { object: 'user', ...viewOf(made) });
};

export const changeUser: AdminHandler = async ({ call, by }, { db }) => {
  const id = call.params.user ?? '';
  const { email, multiplier, ...limits } = await readJson(call, UserChange);
  if (email === undefined && multiplier === undefined && !namesLimits(limits))
    throw fail('invalid_request', 'The body names nothing to change.');
  const changed = await db.transaction().execute(async (tx) => {
    const before = await tx.selectFrom('users').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
    if (!before) throw notFound('user', id);
    const after = await tx
      .updateTable('users')
      .set({
        ...(email !== undefined && { email }),
        ...ppmOf(multiplier),
        limits: JSON.stringify(changedLimits(before.limits as StoredLimits, limits)),
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
};

const ppmOf = (multiplier: string | undefined) =>
  multiplier === undefined ? {} : { multiplier_ppm: BigInt(parsePpm(multiplier) ?? 0) };

const viewOf = (row: Selectable<Rows['users']>) => ({
  id: row.id,
  email: row.email,
  multiplier: factorText(row.multiplier_ppm),
  ...(row.limits as StoredLimits),
  created_at: row.created_at.toISOString(),
});
