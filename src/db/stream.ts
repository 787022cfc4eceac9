/** Long results a piece at a time, so that neither we nor the driver ever hold the whole of one. */
import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Rows } from './rows.ts';

const PIECE = 1_000;

/** One at a time in a transaction; the next piece is read when the last one has been taken. */
export async function* streamRows<T>(tx: Transaction<Rows>, query: RawBuilder<T>): AsyncGenerator<readonly T[]> {
  await sql`declare pieces no scroll cursor for ${query}`.execute(tx);
  for (;;) {
    const { rows } = await sql<T>`fetch ${sql.lit(PIECE)} from pieces`.execute(tx);
    if (rows.length > 0) yield rows;
    if (rows.length < PIECE) break;
  }
  await sql`close pieces`.execute(tx);
}
