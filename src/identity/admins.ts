/** People who may run the gateway: an address and a password, kept as argon2id. */
import { argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { base62, newId } from '../core/index.ts';
import type { Db } from '../db/index.ts';

const argon2Async = promisify(argon2);
/** 19 MiB and two passes: the recommended floor, about 40 ms. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;

/** Makes the administrator, or gives an existing one a new password. Answers a password when none was brought. */
export async function saveAdmin(db: Db, email: string, password?: string): Promise<{ made?: string }> {
  const secret = password ?? base62(randomBytes(15));
  const row = { id: newId('adm'), email: email.toLowerCase(), password_hash: await hashPassword(secret) };
  await db
    .insertInto('admins')
    .values(row)
    .onConflict((conflict) => conflict.column('email').doUpdateSet({ password_hash: row.password_hash }))
    .execute();
  return password === undefined ? { made: secret } : {};
}

async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await argon2Async('argon2id', { message: password, nonce, ...COST });
  const { memory, passes, parallelism } = COST;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${nonce.toString('base64url')}$${tag.toString('base64url')}`;
}
