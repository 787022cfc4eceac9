/**
 * Reading of the request log: a page of calls, newest first, or one call. Every query names an owner, so that people of a user read their
 * own calls by the same code.
 */
import { type Selectable, sql } from 'kysely';
import type { Db, Rows } from '../db/index.ts';
import type { ErrorSide } from '../objects/index.ts';

export type RequestRow = Selectable<Rows['requests']>;

export interface RequestFilters {
  /** Only calls of this user; undefined for operators, who may read all. */
  readonly owner: string | undefined;
  readonly key?: string | undefined;
  readonly group?: string | undefined;
  readonly account?: string | undefined;
  readonly model?: string | undefined;
  readonly operation?: string | undefined;
  readonly status?: number | undefined;
  readonly error?: ErrorSide | undefined;
  readonly start?: Date | undefined;
  readonly end?: Date | undefined;
}

export interface RequestPage extends RequestFilters {
  readonly limit: number;
  /** Time and id of the last row of the page before. */
  readonly after?: readonly [string, string] | undefined;
}

const COLUMNS = {
  owner: 'user_id',
  key: 'key_id',
  group: 'group_id',
  account: 'account_id',
  model: 'model',
  operation: 'operation',
  status: 'status',
  error: 'error',
} as const;

/** Each filter has an index that ends in the time, so that a page reads little more than its rows. */
export function listRequests(db: Db, { limit, after, start, end, ...filters }: RequestPage): Promise<RequestRow[]> {
  let find = db.selectFrom('requests').selectAll().orderBy('at', 'desc').orderBy('id', 'desc').limit(limit);
  for (const [name, column] of Object.entries(COLUMNS)) {
    const value = filters[name as keyof typeof COLUMNS];
    if (value !== undefined) find = find.where(sql.ref(column), '=', value);
  }
  if (start) find = find.where('at', '>=', start);
  if (end) find = find.where('at', '<', end);
  if (after) {
    // The first condition is implied by the second, and lets every index begin at the page.
    find = find.where('at', '<=', new Date(after[0]));
    find = find.where(sql<boolean>`(at, id) < (${after[0]}::timestamptz, ${after[1]})`);
  }
  return find.execute();
}

export function findRequest(db: Db, id: string, owner: string | undefined): Promise<RequestRow | undefined> {
  let find = db.selectFrom('requests').selectAll().where('id', '=', id).limit(1);
  if (owner !== undefined) find = find.where('user_id', '=', owner);
  return find.executeTakeFirst();
}
