/**
 * The pepper of key hashes: random, created once, sealed by the master key in the database. Rotating the master key reseals it, so that
 * keys stay valid. With a wrong master key it does not open, and the process does not start.
 */
import { randomBytes } from 'node:crypto';
import { type Sealer, WrongMasterKey } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';

const NAME = 'key-pepper';
export const PEPPER_LOCATION = `secrets.sealed:${NAME}` as const;

/** Throws `WrongMasterKey` when the stored pepper does not open: this is the first secret that a start decrypts. */
export async function loadPepper(db: Db, sealer: Sealer): Promise<Buffer> {
  const fresh = { name: NAME, sealed: sealer.seal(randomBytes(32).toString('base64'), PEPPER_LOCATION) };
  // When several replicas start on an empty database, one inserts and all read the same value.
  await db
    .insertInto('secrets')
    .values(fresh)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { sealed } = await db.selectFrom('secrets').select('sealed').where('name', '=', NAME).executeTakeFirstOrThrow();
  try {
    return Buffer.from(sealer.open(sealed, PEPPER_LOCATION), 'base64');
  } catch (cause) {
    if (!(cause instanceof WrongMasterKey)) throw cause;
    throw new WrongMasterKey(WRONG_MASTER_KEY, { cause });
  }
}

const WRONG_MASTER_KEY =
  'The master key does not belong to this database: its stored secrets cannot be decrypted. Set MASTER_KEY, or the file master.key in DATA_DIR, to the key that this database was first started with.';
