/** What became of a transaction whose connection was lost: the last message that was lost may have been that of its commit. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { errorText } from '../../core/index.ts';
import type { SeverableClient } from './client.ts';
import { ConnectionLost, DatabaseUnavailable } from './pool.ts';
import type { Db, Tx } from './rows.ts';

/** A session may go on with a transaction for a moment after its connection was lost. */
const LOOKS = 5;
const LOOK_PAUSE_MS = 1_000;

/** Known to the server until it has run two thousand million others. */
const TRANSACTION_ID = 'select pg_current_xact_id()::text as id';

/** The query builder reports what it could not do afterwards with the connection, in place of its loss. */
export const isLoss = (error: unknown): error is Error =>
  error instanceof DatabaseUnavailable ||
  (error instanceof Error && /connection has been discarded/.test(error.message));

/** False when it was rolled back. Rejects with a sentence while the database does not say. */
async function wasCommitted(db: Db, id: string): Promise<boolean> {
  for (let left = LOOKS; ; left -= 1) {
    const { rows } = await sql<{ status: string | null }>`select pg_xact_status(${id}::xid8) as status`
      .execute(db)
      .catch((error: unknown) => Promise.reject(unknown(errorText(error))));
    const status = rows[0]?.status;
    if (status === 'committed' || status === 'aborted') return status === 'committed';
    if (left === 1) throw unknown(`its session says "${status}"`);
    await sleep(LOOK_PAUSE_MS);
  }
}

const unknown = (because: string): DatabaseUnavailable =>
  new DatabaseUnavailable(
    `The database connection was lost during the commit, and whether the change is stored is unknown: ${because}.`,
    undefined,
  );

/** Commits the transaction of a dedicated connection. False when it was lost before, and everything was rolled back. */
export async function commitSession(client: SeverableClient, db: Db): Promise<boolean> {
  const { rows } = await client.query<{ id: string }>(TRANSACTION_ID);
  try {
    await client.query('commit');
    return true;
  } catch (error) {
    if (!client.isLost) throw error;
    return wasCommitted(db, rows[0]?.id ?? '');
  }
}

/** As `db.transaction()`, for a command that must say whether it has changed something: a lost commit that was made is a success. */
export async function commitKnown<T>(db: Db, task: (tx: Tx) => Promise<T>): Promise<T> {
  let done: { readonly id: string; readonly result: T } | undefined;
  try {
    return await db.transaction().execute(async (tx) => {
      const result = await task(tx);
      const { rows } = await sql.raw<{ id: string }>(TRANSACTION_ID).execute(tx);
      done = { id: rows[0]?.id ?? '', result };
      return result;
    });
  } catch (error) {
    if (!done || !isLoss(error)) throw error;
    if (await wasCommitted(db, done.id)) return done.result;
    throw new ConnectionLost('The database connection was lost, and nothing is stored.', error);
  }
}
