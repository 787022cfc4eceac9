/**
 * Re-encryption of secrets after a rotation of MASTER_KEY (`k2:...,k1:...`), one batch per run. When no row is left,
 * the old key can be removed. Safe to interrupt: each row is sealed by the old or the new key, and both open.
 */
import { type Kysely, sql } from 'kysely';
import type { Sealer, SealLocation } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';

interface SealedColumn {
  readonly table: string;
  /** Of a row; `id` by default. */
  readonly id?: string;
  readonly column: string;
  /** Rows whose secret is never opened again have a null here. */
  readonly usedWith?: string;
}

const SEALED: readonly SealedColumn[] = [
  { table: 'secrets', id: 'name', column: 'sealed' },
  { table: 'accounts', column: 'credential_sealed' },
  { table: 'accounts', column: 'assets_secret_sealed' },
  { table: 'accounts', column: 'proxy_sealed' },
  { table: 'keys', column: 'callback_secret_sealed' },
  { table: 'authorization_sessions', column: 'upstream_token_sealed' },
  { table: 'authorization_sessions', column: 'link_sealed' },
  { table: 'video_tasks', column: 'callback_secret_sealed', usedWith: 'callback_url' },
  { table: 'warning_destinations', column: 'url_sealed' },
  { table: 'warning_destinations', column: 'secret_sealed' },
];
const BATCH = 100;

export async function reseal(db: Db, sealer: Sealer): Promise<number> {
  let done = 0;
  let firstError: unknown;
  for (const { table, id = 'id', column, usedWith = column } of SEALED) {
    // What each secret is bound to.
    const location = (row: string): SealLocation => `${table}.${column.replace('_sealed', '')}:${row}`;
    const keyName = sql`split_part(${sql.ref(column)}, ':', 2)`;
    // Smaller or larger instead of unequal, which no index supports.
    const { rows } = await sql<{ row: string; id: string; sealed: string }>`
      select ctid::text as row, ${sql.ref(id)} as id, ${sql.ref(column)} as sealed from ${sql.table(table)}
      where ${sql.ref(usedWith)} is not null and (${keyName} < ${sealer.active} or ${keyName} > ${sealer.active})
      limit ${BATCH}`.execute(db as Kysely<unknown>);
    for (const row of rows) {
      let fresh: string;
      try {
        fresh = sealer.seal(sealer.open(row.sealed, location(row.id)), location(row.id));
      } catch (error) {
        firstError ??= error;
        continue;
      }
      // Does nothing if another process has changed the row meanwhile; the next run finds it again.
      await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${fresh} where ctid = ${row.row}::tid and ${sql.ref(column)} = ${row.sealed}`.execute(
        db,
      );
      done += 1;
    }
  }
  // A damaged secret must not stop the others from being resealed; it is reported when only damaged ones are left.
  if (done === 0 && firstError !== undefined) throw firstError;
  return done;
}
