/**
 * The erasure of a user. Its beginning ends every access and removes names; a job erases content. The ledger and the
 * sums of usage stay, under the id.
 */
import { sql } from 'kysely';
import { errorFields, type Log, notFound } from '../../core/index.ts';
import { balanceReport } from '../../ledger/index.ts';
import { allRows, type Db, DUE_SOON, firstRow, type Job, type Row } from '../../platform/db/index.ts';
import type { ShownErasure } from '../../schemas/index.ts';
import { type Actor, writeAudit } from '../keys/index.ts';

type Counts = Record<string, number>;

async function count(db: Db, userId: string, what: 'erasure_counts' | 'erasure_waits'): Promise<Counts> {
  const { rows } = await sql<Counts>`select * from ${sql.raw(what)}(${userId})`.execute(db);
  return rows[0] ?? {};
}

export const countWaits = (db: Db, userId: string): Promise<Counts> => count(db, userId, 'erasure_waits');

/** Of a user who is not erased: what an erasure would remove. */
export async function readErasure(db: Db, userId: string): Promise<ShownErasure> {
  const row = await db
    .selectFrom('users')
    .leftJoin('erasures', 'erasures.user_id', 'users.id')
    .select(['counts', 'left_at_providers', 'requested_at', 'finished_at'])
    .where('users.id', '=', userId)
    .executeTakeFirst();
  if (!row) throw notFound('user', userId);
  const unfinished = row.requested_at ? 'running' : 'preview';
  return {
    object: 'erasure',
    user: userId,
    state: row.finished_at ? 'finished' : unfinished,
    erases: (row.counts as Counts | null) ?? (await count(db, userId, 'erasure_counts')),
    waits_for: await countWaits(db, userId),
    left_at_providers: row.left_at_providers ?? 0,
    balance: await balanceReport(db, userId),
    requested_at: row.requested_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}

/** Changes nothing when the erasure has begun already. */
export const beginErasure = (db: Db, userId: string, by: Actor): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const user = await tx.selectFrom('users').selectAll().where('id', '=', userId).forUpdate().executeTakeFirst();
    if (!user || user.erased_at) return;
    const erases = await count(tx, userId, 'erasure_counts');
    await sql`select begin_erasure(${userId}, ${by.actor}, ${JSON.stringify(erases)}::jsonb)`.execute(tx);
    await writeAudit(tx, by, { action: 'user.erasing', subject: `user:${userId}`, after: { erases } });
  });

export interface ErasedUser {
  readonly userId: string;
  /** Providers have had a week: what they still hold is left there. */
  readonly isOverdue: boolean;
}

export interface ErasureServices {
  readonly db: Db;
  readonly log: Log;
  /**
   * Modules with objects at providers. Each erases a batch of what has ended, and returns how many objects it left
   * there.
   */
  readonly owners: readonly { eraseUser(user: ErasedUser): Promise<number> }[];
}

type Erasure = Row<'erasures'> & { readonly is_overdue: boolean };

const BATCH_ROWS = 1_000;
const BATCH_LINES = 2_000;

export const erasureJob = (services: ErasureServices): Job => ({
  name: 'users.erase',
  everyMs: 2_000,
  needs: { name: 'erasures', condition: sql`exists (select from erasures where next_check_at < ${DUE_SOON})` },
  run: () => eraseDue(services),
});

/** One user that fails does not keep the others waiting. */
export async function eraseDue(services: ErasureServices): Promise<number> {
  const due = await takeDue(services.db);
  for (const erasure of due)
    await eraseContent(services, erasure).catch((error: unknown) =>
      services.log.error('erasure.failed', { user: erasure.user_id, ...errorFields(error) }),
    );
  return due.length;
}

/** The longer an erasure takes, the rarer it runs. Calls that were open leave traces for up to a day after its end. */
const takeDue = (db: Db): Promise<readonly Erasure[]> =>
  allRows(db)<Erasure>`
    with due as materialized (
      select user_id from erasures where next_check_at <= now() limit 10 for update skip locked)
    update erasures e set next_check_at = case when finished_at < now() - interval '1 day' then null
      else now() + greatest(interval '2 seconds', least(interval '10 minutes', (now() - requested_at) / 4)) end
    from due where e.user_id = due.user_id
    returning e.*, requested_at < now() - interval '7 days' as is_overdue`;

async function eraseContent({ db, owners }: ErasureServices, erasure: Erasure): Promise<void> {
  const { user_id: userId, is_overdue: isOverdue } = erasure;
  for (let more = true; more; ) {
    const { rows } = await sql<{ more: boolean }>`select erase_rows(${userId}, ${BATCH_ROWS}) as more`.execute(db);
    more = rows[0]?.more === true;
  }
  await eraseLog(db, erasure);
  let left = 0;
  for (const owner of owners) left += await owner.eraseUser({ userId, isOverdue });
  if (left > 0)
    await sql`update erasures set left_at_providers = left_at_providers + ${left}
      where user_id = ${userId}`.execute(db);
  const waits = Object.values(await countWaits(db, userId));
  if (waits.every((found) => found === 0)) await finish(db, userId);
}

/**
 * Goes through each line once, apart from the day before the last run: a call is logged when it ends, with the time of
 * its beginning.
 */
async function eraseLog(db: Db, { user_id: userId, log_erased_to: erasedTo }: Erasure): Promise<void> {
  const { rows: begun } = await sql<{ now: Date; since: string }>`
    select now(), coalesce(${erasedTo}::timestamptz - interval '1 day', '-infinity')::text as since`.execute(db);
  for (let [at, id] = [begun[0]?.since ?? null, '' as string | null]; at !== null; ) {
    const { rows } = await sql<{ at: string | null; id: string | null }>`
      select last_at::text as at, last_id as id from erase_log(${userId}, ${at}, ${id}, ${BATCH_LINES})`.execute(db);
    ({ at, id } = rows[0] ?? { at: null, id: null });
  }
  await sql`update erasures set log_erased_to = ${begun[0]?.now} where user_id = ${userId}`.execute(db);
}

/** Once, by the run that finds nothing left. */
const finish = (db: Db, userId: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const done = await firstRow(tx)<Row<'erasures'>>`
      update erasures set finished_at = now() where user_id = ${userId} and finished_at is null
      returning *`;
    if (!done) return;
    const after = { erased: done.counts, left_at_providers: done.left_at_providers };
    await writeAudit(tx, { actor: done.actor } as Actor, { action: 'user.erased', subject: `user:${userId}`, after });
  });
