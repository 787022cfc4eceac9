/**
 * The admin token when ADMIN_TOKEN is not set: created at the first start, shown once, and sealed in the database. It is not an API
 * key: the endpoints of callers reject it.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { base62, type Sealer } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';

const NAME = 'admin-token';
const LOCATION = `secrets.sealed:${NAME}` as const;

const newAdminToken = (): string => `dga-${base62(randomBytes(32))}`;

/** Undefined when a token exists. When several replicas start at once, one creates it. */
export async function createAdminToken(db: Db, sealer: Sealer): Promise<string | undefined> {
  const token = newAdminToken();
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('secrets')
    .values({ name: NAME, sealed: sealer.seal(token, LOCATION) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows ? token : undefined;
}

/** Replaces the token; the old one is rejected from now on. */
export async function rotateAdminToken(db: Db, sealer: Sealer): Promise<string> {
  const token = newAdminToken();
  const sealed = sealer.seal(token, LOCATION);
  await db
    .insertInto('secrets')
    .values({ name: NAME, sealed })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ sealed }))
    .execute();
  return token;
}

export async function readAdminToken(db: Db, sealer: Sealer): Promise<string | undefined> {
  const row = await db.selectFrom('secrets').select('sealed').where('name', '=', NAME).executeTakeFirst();
  return row && sealer.open(row.sealed, LOCATION);
}

/** Compares in constant time. */
export const isSameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
