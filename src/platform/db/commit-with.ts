/**
 * Transactions whose last statements and commit leave together: what those lock waits for the server only, never for
 * this process.
 */
import { CompiledQuery } from 'kysely';
import type { Db } from './rows.ts';

const TOGETHER = 'together';

/**
 * The pool sends the parameters of this statement, which are statements, without waiting for the result of one before
 * the next.
 */
export const areTogether = (statement: string): boolean => statement === TOGETHER;

/**
 * Commits the transaction with the statements that `work` returns, and returns the rows of each. A process that is
 * stopped, or cut off from the network, holds the locks of earlier statements until the server gives it up, but not
 * those of the last ones.
 *
 * The commit does not wait for the disk or for a standby while it holds the locks: this function waits instead. When it
 * returns, the transaction is durable. Other sessions may see it before, but what they commit then is later in the
 * write-ahead log, so it is not durable without this transaction.
 */
export const commitWith = (
  db: Db,
  work: (tx: Db) => Promise<readonly CompiledQuery[]>,
): Promise<readonly (readonly unknown[])[]> =>
  db.connection().execute(async (session) => {
    const run = (query: CompiledQuery) => session.executeQuery<readonly unknown[]>(query);
    await run(BEGIN);
    try {
      const last = await work(session);
      const { rows } = await run(CompiledQuery.raw(TOGETHER, [LATER, ...last, COMMIT]));
      await run(DURABLE);
      return rows.slice(1, -1);
    } catch (error) {
      await run(ROLLBACK).catch(() => {});
      throw error;
    }
  });

const BEGIN = CompiledQuery.raw('begin');
const LATER = CompiledQuery.raw('set local synchronous_commit = off');
const COMMIT = CompiledQuery.raw('commit');
/** The commit of any later record of the log waits for all before it. This one has no other effect. */
const DURABLE = CompiledQuery.raw("select pg_logical_emit_message(true, 'dragoman', '')");
const ROLLBACK = CompiledQuery.raw('rollback');
