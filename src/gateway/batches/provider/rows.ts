/**
 * Rows of batches at providers.
 * Each change of a state is one transaction with the money and the requests that it concerns.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Log } from '../../../core/index.ts';
import * as ledger from '../../../ledger/index.ts';
import type { Db, Row, Tx } from '../../../platform/db/index.ts';
import { PROVIDER_BATCHES } from '../../../rules/index.ts';
import type { Batch } from '../batch-store.ts';
import { lockLines } from '../line-rows.ts';
import type { PreparedBatch } from './prepare.ts';

export type ProviderBatch = Row<'provider_batches'>;
export type BatchState = Pick<ProviderBatch, 'user_id' | 'reference'> & { readonly state: string };

interface RowServices {
  readonly db: Db;
  readonly log: Log;
}

export const providerLeaseEnd = sql<Date>`now() + ${PROVIDER_BATCHES.leaseMs} * interval '1 millisecond'`;

/**
 * A batch that nobody prepares, with a lease. The rows are found once: PostgreSQL may run a subquery for every row of the
 * table, and each run would take another one, because `skip locked` passes over those that the statement has changed.
 */
export async function takeUnplaced(db: Db): Promise<Batch | undefined> {
  const { rows } = await sql<Batch>`
    with due as materialized (
      select user_id, id from batches where placing_until <= now() order by placing_until limit 1
      for update skip locked)
    update batches b set placing_until = ${providerLeaseEnd} from due
    where b.user_id = due.user_id and b.id = due.id
    returning b.*`.execute(db);
  return rows[0];
}

/** From now on its requests are sent one by one. */
export const endPlacing = (db: Db, { user_id, id }: Batch) =>
  sql`update batches set placing_until = null where user_id = ${user_id} and id = ${id}`.execute(db);

/** Throws when the batch was cancelled or deleted meanwhile, or one of its requests has ended. */
export async function insertPlaced(tx: Tx, { user_id, id, key_id, operation }: Batch, prepared: PreparedBatch) {
  const { caller, account, model, priceId, lines, reference } = prepared;
  await tx
    .insertInto('provider_batches')
    .values({
      user_id,
      reference,
      batch_id: id,
      key_id,
      operation,
      group_id: caller.group.id,
      account_id: account.id,
      model: model.name,
      price_id: priceId,
      stores: caller.key.store,
      requests: lines.length,
      next_check_at: providerLeaseEnd,
    })
    .execute();
  const numbers = lines.map(({ n }) => n);
  await sql`
    insert into provider_batch_lines (user_id, reference, n, input_tokens, max_nanos)
    select ${user_id}, ${reference}, * from unnest(
      ${numbers}::int[],
      ${lines.map(({ inputTokens }) => inputTokens)}::bigint[],
      ${lines.map(({ maxNanos }) => maxNanos)}::bigint[])`.execute(tx);
  await lockLines(tx);
  const placed = await sql`
    update batch_lines set state = 'provider'
    where user_id = ${user_id} and batch_id = ${id} and state = 'waiting' and n = any(${numbers}::int[])`.execute(tx);
  const open = await sql`
    update batches set placing_until = null where user_id = ${user_id} and id = ${id} and state = 'running'
      and cancelled_at is null and placing_until is not null`.execute(tx);
  if (placed.numAffectedRows !== BigInt(lines.length) || open.numAffectedRows !== 1n)
    throw new Error('the batch has changed while it was prepared');
}

/** False when another process has ended the state meanwhile. */
export async function changeRow(
  db: Db,
  { user_id, reference, state }: BatchState,
  change: Partial<{ readonly [K in keyof ProviderBatch]: ProviderBatch[K] | RawBuilder<Date> }>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('provider_batches')
    .set(change as Partial<ProviderBatch>)
    .where('user_id', '=', user_id)
    .where('reference', '=', reference)
    .where('state', '=', state)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Runs the task on the locked row. False when another process has ended that state meanwhile. */
export const whileIn = (db: Db, given: BatchState, run: (tx: Tx, row: ProviderBatch) => Promise<void>) =>
  db.transaction().execute(async (tx) => {
    const { rows } = await sql<ProviderBatch>`
      select * from provider_batches
      where user_id = ${given.user_id} and reference = ${given.reference} and state = ${given.state}
      for update`.execute(tx);
    const [row] = rows;
    if (row) await run(tx, row);
    return row !== undefined;
  });

/** The hold ends with what the results cost. The next turn deletes what the provider keeps of the batch. */
export async function payBatch(tx: Tx, row: ProviderBatch, log: Log): Promise<void> {
  const { reference, nanos, batch_id: batch, user_id: user, price_id: priceId } = row;
  if (nanos === 0n) await ledger.release(tx, reference);
  else {
    const { excess } = await ledger.settle(tx, reference, { nanos, reason: `batch ${batch}`, priceId });
    if (excess > 0n) log.warn('batch.above_hold', { batch, user, excess: String(excess) });
  }
  await changeRow(tx, row, { state: 'ended', next_check_at: sql<Date>`now()` });
}

/** Nothing more runs at the provider: the requests without a result are sent one by one. */
export const returnRequests = ({ db, log }: RowServices, given: BatchState): Promise<boolean> =>
  whileIn(db, given, async (tx, row) => {
    await lockLines(tx);
    await sql`update batch_lines set state = 'waiting'
      where user_id = ${row.user_id} and batch_id = ${row.batch_id} and state = 'provider'`.execute(tx);
    await payBatch(tx, row, log);
  });

/** What is due, each until its next turn. Older ones are looked at less often. */
export async function takeDueBatches(db: Db, limit: number): Promise<ProviderBatch[]> {
  const { rows } = await sql<ProviderBatch>`
    with due as materialized (
      select user_id, reference from provider_batches where next_check_at <= now() order by next_check_at limit ${limit}
      for update skip locked)
    update provider_batches b set next_check_at = now() + case when state = 'submitting' then interval '1 minute'
      else least(interval '5 minutes', greatest(interval '2 seconds', (now() - created_at) / 10)) end
    from due where b.user_id = due.user_id and b.reference = due.reference
    returning b.*`.execute(db);
  return rows;
}

/** Of requests without a result, some. */
export async function openNumbers(db: Db, { user_id, reference }: BatchState): Promise<number[]> {
  const { rows } = await sql<{ n: number }>`
    select n from provider_batch_lines where user_id = ${user_id} and reference = ${reference}
    order by n limit ${PROVIDER_BATCHES.pageLines}`.execute(db);
  return rows.map(({ n }) => n);
}
