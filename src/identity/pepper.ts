/**
 * The pepper that keys are hashed with: random, made once, sealed by the master key in the database. Rotating the master key
 * seals it anew and leaves every key valid; a wrong master key cannot open it, and then nothing starts.
 */
import { randomBytes } from 'node:crypto';
import type { Sealer } from '../core/index.ts';
import type { Db } from '../db/index.ts';

const NAME = 'key-pepper';
export const PEPPER_LOCATION = `secrets.sealed:${NAME}` as const;

/** Throws `WrongMasterKey` when the stored pepper does not open. */
export async function loadPepper(db: Db, sealer: Sealer): Promise<Buffer> {
  const fresh = { name: NAME, sealed: sealer.seal(randomBytes(32).toString('base64'), PEPPER_LOCATION) };
  // Of several replicas that start on an empty database, one inserts and all read the same.
  await db
    .insertInto('secrets')
    .values(fresh)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { sealed } = await db.selectFrom('secrets').select('sealed').where('name', '=', NAME).executeTakeFirstOrThrow();
  return Buffer.from(sealer.open(sealed, PEPPER_LOCATION), 'base64');
}
