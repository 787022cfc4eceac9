/**
 * After MASTER_KEY was rotated (`k2:...,k1:...`), seals every secret anew with the first key, a few rows at a time; when this
 * has nothing left to do, the old key can be taken out. Safe to kill anywhere: a row is either old or new, and both open.
 */
import { type Kysely, sql } from 'kysely';
import type { Sealer, SealLocation } from '../core/index.ts';
import type { Db } from '../db/index.ts';

/** Every sealed column, and the place its secrets are bound to. */
const SEALED: readonly { table: string; id: string; column: string; place: (id: string) => SealLocation }[] = [
  { table: 'secrets', id: 'name', column: 'sealed', place: (id) => `secrets.sealed:${id}` },
  { table: 'accounts', id: 'id', column: 'credential_sealed', place: (id) => `accounts.credential:${id}` },
  { table: 'accounts', id: 'id', column: 'assets_secret_sealed', place: (id) => `accounts.assets_secret:${id}` },
  { table: 'keys', id: 'id', column: 'callback_secret_sealed', place: (id) => `keys.callback_secret:${id}` },
];
const BATCH = 100;

export async function reseal(db: Db, sealer: Sealer): Promise<number> {
  let done = 0;
  let fault: unknown;
  for (const { table, id, column, place } of SEALED) {
    const { rows } = await sql<{ id: string; sealed: string }>`
      select ${sql.ref(id)} as id, ${sql.ref(column)} as sealed from ${sql.table(table)}
      where ${sql.ref(column)} is not null and ${sql.ref(column)} not like ${`v1:${sealer.active}:%`}
      limit ${BATCH}`.execute(db as Kysely<unknown>);
    for (const row of rows) {
      let fresh: string;
      try {
        fresh = sealer.seal(sealer.open(row.sealed, place(row.id)), place(row.id));
      } catch (error) {
        fault ??= error;
        continue;
      }
      // Only if nobody wrote a new secret in between.
      await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${fresh} where ${sql.ref(id)} = ${row.id} and ${sql.ref(column)} = ${row.sealed}`.execute(
        db,
      );
      done += 1;
    }
  }
  // One damaged secret must not keep the others sealed with the old key; it is complained about when only such are left.
  if (done === 0 && fault !== undefined) throw fault;
  return done;
}
