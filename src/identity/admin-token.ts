/**
 * The bearer of the admin API when ADMIN_TOKEN does not give one: made once, sealed by the master key in the database, shown to the
 * person who starts the gateway. It opens no caller's endpoint: API keys live in another table.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { base62, type Sealer } from '../core/index.ts';
import type { Db } from '../db/index.ts';

const NAME = 'admin-token';
const PLACE = `secrets.sealed:${NAME}` as const;

const newAdminToken = (): string => `dga-${base62(randomBytes(32))}`;

/** The value, when it did not exist before. Of several replicas that start at once, one makes it. */
export async function makeAdminToken(db: Db, sealer: Sealer): Promise<string | undefined> {
  const token = newAdminToken();
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('secrets')
    .values({ name: NAME, sealed: sealer.seal(token, PLACE) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows ? token : undefined;
}

/** The old one is refused from now on. */
export async function rotateAdminToken(db: Db, sealer: Sealer): Promise<string> {
  const token = newAdminToken();
  const sealed = sealer.seal(token, PLACE);
  await db
    .insertInto('secrets')
    .values({ name: NAME, sealed })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ sealed }))
    .execute();
  return token;
}

export async function readAdminToken(db: Db, sealer: Sealer): Promise<string | undefined> {
  const row = await db.selectFrom('secrets').select('sealed').where('name', '=', NAME).executeTakeFirst();
  return row && sealer.open(row.sealed, PLACE);
}

/** Takes as long whatever the two have in common. */
export const isSameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
