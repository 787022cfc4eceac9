/** Pages of what a user has: files, batches and the like, by the time of their creation. */
import { type RawBuilder, sql } from 'kysely';
import type { Db, Row, Rows } from '../../platform/db/index.ts';

export interface OwnPage {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
  readonly order?: 'asc' | 'desc' | undefined;
}

/** One more row than the limit tells that more follow. Those before an id come in the opposite order. */
export async function ownRows<T extends keyof Rows>(
  db: Db,
  table: T,
  { userId, after, before, limit, order = 'desc' }: OwnPage & { readonly userId: string },
  condition: RawBuilder<boolean> = sql`true`,
): Promise<Row<T>[]> {
  const from = after ?? before;
  const isBackward = (order === 'desc') === (before !== undefined && after === undefined);
  const place = sql`and (created_at, id) ${sql.raw(isBackward ? '>' : '<')}
    (select created_at, id from ${sql.table(table)} where id = ${from} and user_id = ${userId})`;
  const direction = sql.raw(isBackward ? 'asc' : 'desc');
  const { rows } = await sql<Row<T>>`
    select * from ${sql.table(table)} where user_id = ${userId} and ${condition} ${from === undefined ? sql`` : place}
    order by created_at ${direction}, id ${direction} limit ${limit + 1}`.execute(db);
  return rows;
}
