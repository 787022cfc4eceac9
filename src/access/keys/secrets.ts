/** Secrets of the gateway itself, sealed in the database: the admin token and the pepper of key hashes. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import { base62, type Sealer, WrongMasterKey } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';

const ADMIN_TOKEN = 'admin-token';
const TOKEN_LOCATION = `secrets.sealed:${ADMIN_TOKEN}` as const;
const PEPPER = 'key-pepper';
export const PEPPER_LOCATION = `secrets.sealed:${PEPPER}` as const;

const newAdminToken = (): string => `dga-${base62(randomBytes(32))}`;

/** For when ADMIN_TOKEN is not set. Undefined when a token exists. It is no API key. */
export async function createAdminToken(db: Db, sealer: Sealer): Promise<string | undefined> {
  const token = newAdminToken();
  return (await insertSecret(db, ADMIN_TOKEN, sealer.seal(token, TOKEN_LOCATION))) ? token : undefined;
}

export async function rotateAdminToken(db: Db, sealer: Sealer): Promise<string> {
  const token = newAdminToken();
  const sealed = sealer.seal(token, TOKEN_LOCATION);
  await sql`
    insert into secrets (name, sealed) values (${ADMIN_TOKEN}, ${sealed})
    on conflict (name) do update set sealed = excluded.sealed`.execute(db);
  return token;
}

export async function readAdminToken(db: Db, sealer: Sealer): Promise<string | undefined> {
  const sealed = await readSecret(db, ADMIN_TOKEN);
  return sealed && sealer.open(sealed, TOKEN_LOCATION);
}

/** Compares in constant time. */
export const isSameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));

/**
 * Created once, and resealed when the master key is rotated. Throws `WrongMasterKey` when it does not open: it is the
 * first secret that a start decrypts.
 */
export async function loadPepper(db: Db, sealer: Sealer): Promise<Buffer> {
  await insertSecret(db, PEPPER, sealer.seal(randomBytes(32).toString('base64'), PEPPER_LOCATION));
  const sealed = await readSecret(db, PEPPER);
  if (!sealed) throw new Error('The pepper is missing.');
  try {
    return Buffer.from(sealer.open(sealed, PEPPER_LOCATION), 'base64');
  } catch (cause) {
    if (!(cause instanceof WrongMasterKey)) throw cause;
    throw new WrongMasterKey(WRONG_MASTER_KEY, { cause });
  }
}

const WRONG_MASTER_KEY =
  'The master key does not belong to this database: its stored secrets cannot be decrypted. Set MASTER_KEY, or the file master.key in DATA_DIR, to the key that this database was first started with.';

/** When several replicas start on an empty database, one inserts and all read the same value. */
async function insertSecret(db: Db, name: string, sealed: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    insert into secrets (name, sealed) values (${name}, ${sealed}) on conflict do nothing`.execute(db);
  return Boolean(numAffectedRows);
}

const readSecret = async (db: Db, name: string): Promise<string | undefined> =>
  (await db.selectFrom('secrets').select('sealed').where('name', '=', name).executeTakeFirst())?.sealed;
