/**
 * Reading of the request log. Every query names an owner, so that people of a user read their own calls by the same
 * code.
 */
import { type RawBuilder, sql } from 'kysely';
import { requestIdTime } from '../../core/index.ts';
import { unpackUsage } from '../../ledger/index.ts';
import { type Db, firstRow, likePattern, type Row } from '../../platform/db/index.ts';
import type { ErrorSide } from '../../schemas/index.ts';

export type RequestRow = Row<'requests'>;

/** A text filter takes `*` for any characters, which searches the newest calls of the period; see `SEARCHED_ROWS`. */
export interface RequestFilters
  extends Readonly<
    Partial<Record<'user' | 'key' | 'group' | 'account' | 'model' | 'operation' | 'code', string | undefined>>
  > {
  /** Only calls of this user; undefined for operators, who may read all. */
  readonly owner: string | undefined;
  readonly status?: readonly [number, number] | undefined;
  readonly error?: ErrorSide | undefined;
  readonly start?: Date | undefined;
  readonly end?: Date | undefined;
}

/** What calls can be ordered by beside their time. Calls without a value come last. */
const SORTED = {
  charge: ['nanos', 'bigint'],
  total: ['total_ms', 'real'],
  first_byte: ['first_byte_ms', 'real'],
} as const;
export type RequestSort = keyof typeof SORTED;
export const REQUEST_SORTS = Object.keys(SORTED) as [RequestSort, ...RequestSort[]];

export interface RequestPage extends RequestFilters {
  /** The largest first, among the newest calls; without it the newest first. */
  readonly sort?: RequestSort | undefined;
  readonly limit: number;
  /** Of the last row of the page before: its time and id, and before them the value that the page is sorted by. */
  readonly after?: readonly string[] | undefined;
}

export interface FoundRequests {
  readonly rows: RequestRow[];
  /** Set where the search ended before the period did: the page after this time and id goes on. */
  readonly searchedTo?: readonly [at: Date, id: string] | undefined;
}

/** Bounds the search for what has no index, in a log of any length. */
export const SEARCHED_ROWS = 100_000;

const COLUMNS = {
  owner: 'user_id',
  user: 'user_id',
  key: 'key_id',
  group: 'group_id',
  account: 'account_id',
  model: 'model',
  operation: 'operation',
  error: 'error',
} as const;
/**
 * Each index costs every call. What most calls share is found soon by time, and keys are found among the calls of their
 * user.
 */
const INDEXED: readonly string[] = ['owner', 'user', 'account', 'model', 'error'];

/** A page of filters with an index reads little more than its rows, and any other at most `SEARCHED_ROWS`. */
export async function listRequests(db: Db, page: RequestPage): Promise<FoundRequests> {
  const { limit, after, sort } = page;
  const { exact, searched } = conditionsOf({ ...page, user: page.user ?? (await userOfKey(db, page)) });
  const begun = after && !sort ? [...exact, ...afterTime(after)] : exact;
  const newest = sql`select * from ${TABLE} where ${all(begun)} order by at desc, id desc`;
  if (searched.length === 0 && !sort) return { rows: await rowsOf(db, sql`${newest} limit ${limit}`) };
  const rows = await rowsOf(
    db,
    sql`
    select * from (${newest} limit ${SEARCHED_ROWS}) requests
    where ${all(sort && after ? [...searched, afterValue(sort, after)] : searched)}
    order by ${sort ? sql`${sortValue(sort)} desc, ` : sql``}at desc, id desc limit ${limit}`,
  );
  if (sort || rows.length >= limit) return { rows };
  const end = sql<Pick<RequestRow, 'at' | 'id'>>`
    select at, id from ${TABLE} where ${all(begun)} order by at desc, id desc offset ${SEARCHED_ROWS - 1} limit 1`;
  const [last] = (await end.execute(db)).rows;
  return { rows, searchedTo: last && [last.at, last.id] };
}

const TABLE = sql.table('requests');

/** With the whole usage of each call in `usage`. */
const rowsOf = async (db: Db, query: RawBuilder<unknown>): Promise<RequestRow[]> =>
  (await sql<RequestRow>`${query}`.execute(db)).rows.map((row) =>
    row.nanos === null ? row : { ...row, usage: unpackUsage(row) as unknown as RequestRow['usage'] },
  );

type Condition = RawBuilder<boolean>;

const all = (conditions: readonly Condition[]): RawBuilder<unknown> =>
  conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);

function conditionsOf({ start, end, status, code, ...filters }: RequestFilters) {
  const exact: Condition[] = [];
  const searched: Condition[] = [];
  for (const [name, column] of Object.entries(COLUMNS)) {
    const value = filters[name as keyof typeof COLUMNS];
    if (value === undefined) continue;
    if (value.includes('*')) searched.push(sql`${sql.ref(column)} ilike ${likePattern(value)}`);
    else (INDEXED.includes(name) ? exact : searched).push(sql`${sql.ref(column)} = ${value}`);
  }
  if (code !== undefined) searched.push(sql`code ilike ${likePattern(code)}`);
  if (status && status[0] === status[1]) exact.push(sql`status = ${status[0]}`);
  else if (status) searched.push(sql`status between ${status[0]} and ${status[1]}`);
  if (start) exact.push(sql`at >= ${start}`);
  if (end) exact.push(sql`at < ${end}`);
  return { exact, searched };
}

async function userOfKey(db: Db, { key, owner }: RequestFilters): Promise<string | undefined> {
  if (key === undefined || owner !== undefined) return undefined;
  return (await db.selectFrom('keys').select('user_id').where('id', '=', key).executeTakeFirst())?.user_id;
}

/** The first condition is implied by the second, and lets every index begin at the page. */
const afterTime = ([at = '', id = '']: readonly string[]): Condition[] => [
  sql`at <= ${at}::timestamptz`,
  sql`(at, id) < (${at}::timestamptz, ${id})`,
];

/** A charge may be zero, and no value is below it. */
const sortValue = (sort: RequestSort): RawBuilder<unknown> => sql`coalesce(${sql.ref(SORTED[sort][0])}, -1)`;

const afterValue = (sort: RequestSort, [value = '', at = '', id = '']: readonly string[]): Condition =>
  sql`(${sortValue(sort)}, at, id) < (${value}::${sql.raw(SORTED[sort][1])}, ${at}::timestamptz, ${id})`;

export const pageKeyOf = (row: RequestRow, sort: RequestSort | undefined): string[] => [
  ...(sort ? [String(row[SORTED[sort][0]] ?? -1)] : []),
  row.at.toISOString(),
  row.id,
];

/** By our id, or by the provider's id of a failed attempt. */
export async function findRequest(db: Db, id: string, owner: string | undefined): Promise<RequestRow | undefined> {
  if (!OWN_ID.test(id)) return findByProviderId(db, id, owner);
  const conditions = owner === undefined ? [] : [sql<boolean>`user_id = ${owner}`];
  const time = requestIdTime(id);
  const hasTime = time !== undefined && time >= ID_TIMES.from && time < ID_TIMES.to;
  if (hasTime) conditions.push(sql`at between ${new Date(time - ID_MARGIN_MS)} and ${new Date(time + ID_MARGIN_MS)}`);
  const rows = await rowsOf(
    db,
    sql`
    select * from (
      select * from ${TABLE} where ${all(conditions)} order by at desc, id desc limit ${SEARCHED_ROWS}) requests
    where id = ${id} limit 1`,
  );
  return rows[0];
}

async function findByProviderId(db: Db, id: string, owner: string | undefined): Promise<RequestRow | undefined> {
  const fault = await firstRow(db)<{ request_id: string }>`
    select request_id from request_faults where provider_request_id = ${id} limit 1`;
  return fault && findRequest(db, fault.request_id, owner);
}

/**
 * Ids of calls begin with their time. Those of earlier versions were random; they are searched among the newest calls.
 */
const ID_TIMES = { from: Date.UTC(2020, 0), to: Date.UTC(2100, 0) };
const ID_MARGIN_MS = 10;

/** Ids of some providers have the same prefix. */
const OWN_ID = /^req_[0-9a-f]{24}$/;
