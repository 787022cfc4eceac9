/** Streams long results in batches, so that neither the gateway nor the driver holds all rows in memory. */
import { type RawBuilder, sql } from 'kysely';
import type { Tx } from './rows.ts';

/** Large enough that a round trip to the database costs little per row. */
const BATCH_ROWS = 5_000;
const READER_TIMEOUT = '10min';

/** Only one stream at a time per transaction, because the cursor has a fixed name. */
export async function* streamRows<T>(tx: Tx, query: RawBuilder<T>, batch = BATCH_ROWS): AsyncGenerator<readonly T[]> {
  // A slow reader may take long between two batches; the transaction only reads.
  await sql`set local idle_in_transaction_session_timeout = ${sql.lit(READER_TIMEOUT)}`.execute(tx);
  await sql`declare batches no scroll cursor for ${query}`.execute(tx);
  for (;;) {
    const { rows } = await sql<T>`fetch ${sql.lit(batch)} from batches`.execute(tx);
    if (rows.length > 0) yield rows;
    if (rows.length < batch) break;
  }
  await sql`close batches`.execute(tx);
}
