/** Usage, revenue, cost and margin for operators, by any combination of dimensions. Reads roll-ups only. */
import { type RawBuilder, sql } from 'kysely';
import { formatNanos } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { Dimension, OperatorMeasures, UserMeasures } from '../../schemas/index.ts';
import { DAILY_SUMS } from '../usage-record.ts';
import { DIMENSION_COLUMNS, isDaily, OF_CALLS, sumsOf } from './usage-sums.ts';

export interface BreakdownQuery {
  readonly start: string;
  readonly end: string;
  readonly by: readonly Dimension[];
  readonly only: Partial<Record<Dimension, string>>;
  /** Without rows of nothing but the cost of failed attempts, for users. */
  readonly isOfCalls?: boolean | undefined;
  /** By the dimensions without one. */
  readonly order?: { readonly by: SortedMeasure; readonly isAscending: boolean } | undefined;
  /** The values of `by` in the last row of the previous page; in an order, its value comes first. */
  readonly after?: readonly string[] | undefined;
  readonly limit?: number | undefined;
}

export type BreakdownRow = Readonly<Record<(typeof DAILY_SUMS)[number], bigint>> &
  Readonly<Partial<Record<Dimension, string>>> & {
    /** In an order: the value that the row is placed by, and how many rows there are. */
    readonly sorted_by?: string;
    readonly lines?: bigint;
  };

/** What a report can be sorted by. Cost and margin count what is known. */
export const SORTED_MEASURES = {
  requests: sql`requests`,
  input_tokens: sql`input_tokens`,
  output_tokens: sql`output_tokens`,
  revenue: sql`nanos`,
  charge: sql`nanos`,
  cost: sql`cost_nanos`,
  margin: sql`nanos - cost_nanos`,
} as const;
export type SortedMeasure = keyof typeof SORTED_MEASURES;

/** Rows ordered by their dimensions, so that a cursor stays valid while rows are added. */
export function breakdownQuery(query: BreakdownQuery): RawBuilder<BreakdownRow> {
  const { by, only, limit } = query;
  if (query.order && by.length > 0) return sortedLines(query, query.order);
  const isOfUser = only.user !== undefined || only.key !== undefined;
  const hasIndex = by[0] === 'day' || by[0] === 'user' || by[0] === 'key';
  if (limit === undefined || !isDaily(by) || isOfUser || hasIndex) return allRows(query);
  return pageOfGroups(query, limit);
}

/**
 * Groups and order name plain columns, so that PostgreSQL reads a page
 * from an index instead of sorting the whole period.
 */
function allRows({ start, end, by, only, isOfCalls, after, limit }: BreakdownQuery): RawBuilder<BreakdownRow> {
  const columns = by.map((name) => columnOf('sums', name));
  return sql<BreakdownRow>`
    select ${sql.join([...by.map((name) => sql`${shown('sums', name)} as ${sql.ref(name)}`), ...SUMS])}
    from ${sumsOf({ start, end }, [...by, ...namesOf(only)])} sums
    where ${matching('sums', { only, isOfCalls })} ${after ? laterThan('sums', by, after) : sql``}
    ${columns.length > 0 ? sql`group by ${sql.join(columns)} order by ${sql.join(columns)}` : sql``}
    ${limit === undefined ? sql`` : sql`limit ${limit}`}`;
}

/** Every page sums the whole period, as the total beside it does: an order by a sum has no index. */
function sortedLines(query: BreakdownQuery, { by: measure, isAscending }: NonNullable<BreakdownQuery['order']>) {
  const { by, after, limit } = query;
  const all = allRows({ ...query, after: undefined, limit: undefined });
  const names = sql.join(by.map((name) => sql.ref(name)));
  const [direction, sign] = isAscending ? [sql`asc`, sql`>`] : [sql`desc`, sql`<`];
  const [last = '0', ...dimensions] = after ?? [];
  return sql<BreakdownRow>`
    select * from (select *, (${SORTED_MEASURES[measure]})::text as sorted_by, ${SORTED_MEASURES[measure]} as placed_by,
      count(*) over () as lines from (${all}) sums) listed
    ${
      after
        ? sql`where placed_by ${sign} ${last}::numeric or (placed_by = ${last}::numeric
          and (${names}) > (${sql.join(dimensions.map((value) => sql`${value}::text`))}))`
        : sql``
    }
    order by placed_by ${direction}, ${names} ${limit === undefined ? sql`` : sql`limit ${limit}`}`;
}

/**
 * A page by, say, model, user and day: no index has this order, and no sums are smaller than the daily ones.
 * Larger sums give the first groups of model and user. Each has a row at least, so the page is in as many groups as it
 * has rows, and one more for the rest of the group in which the previous page ended.
 * PostgreSQL reads their days group by group, until the page is full.
 */
function pageOfGroups(
  { start, end, by, only, isOfCalls, after }: BreakdownQuery,
  limit: number,
): RawBuilder<BreakdownRow> {
  const count = by.findIndex((_, n) => isDaily(by.slice(0, n + 1)));
  const leading = by.slice(0, count);
  const columns = sql.join(leading.map((name) => columnOf('sums', name)));
  const groups = sql`
    select ${columns} from ${sumsOf({ start, end }, [...leading, ...namesOf(only)])} sums
    where ${matching('sums', { only, isOfCalls })} ${after ? sql`and (${columns}) >= (${valuesOf(leading, after)})` : sql``}
    group by ${columns} order by ${columns} limit ${limit + 1}`;
  const sameGroup = leading.map((name) => sql`${columnOf('days', name)} = ${columnOf('leading', name)}`);
  const rest = by.slice(count);
  const restColumns = sql.join(rest.map((name) => columnOf('days', name)));
  const tableOf = (name: Dimension): string => (leading.includes(name) ? 'leading' : 'sums');
  const order = sql.join(by.map((name) => columnOf(tableOf(name), name)));
  return sql<BreakdownRow>`
    select ${sql.join([
      ...by.map((name) => sql`${shown(tableOf(name), name)} as ${sql.ref(name)}`),
      ...DAILY_SUMS.map((name) => sql.ref(`sums.${name}`)),
    ])}
    from (${groups}) "leading" cross join lateral (
      select ${restColumns}, ${sql.join(SUMS)} from usage_daily days
      where day between ${start}::date and ${end}::date
        and ${sql.join(sameGroup, sql` and `)} and ${matching('days', { only, isOfCalls })}
      group by ${restColumns}) sums
    where ${after ? sql`(${order}) > (${valuesOf(by, after)})` : sql`true`}
    order by ${order} limit ${limit}`;
}

const SUMS = DAILY_SUMS.map((name) => sql`bigint_sum(${sql.ref(name)}) as ${sql.ref(name)}`);

const columnOf = (table: string, name: Dimension) => sql.ref(`${table}.${DIMENSION_COLUMNS[name]}`);

const shown = (table: string, name: Dimension) =>
  name === 'day' ? sql`${columnOf(table, name)}::text` : columnOf(table, name);

const namesOf = (only: BreakdownQuery['only']) => Object.keys(only) as Dimension[];

const matching = (
  table: string,
  { only, isOfCalls }: Pick<BreakdownQuery, 'only' | 'isOfCalls'>,
): RawBuilder<unknown> =>
  sql.join(
    [isOfCalls ? OF_CALLS : sql`true`, ...namesOf(only).map((name) => sql`${columnOf(table, name)} = ${only[name]}`)],
    sql` and `,
  );

/** Also repeats the condition for the first column alone, which an index supports for any order of the others. */
function laterThan(table: string, by: readonly Dimension[], after: readonly string[]): RawBuilder<unknown> {
  const columns = by.map((name) => columnOf(table, name));
  return sql`
    and ${columns[0]} >= ${valuesOf(by.slice(0, 1), after)}
    and (${sql.join(columns)}) > (${valuesOf(by, after)})`;
}

const valuesOf = (by: readonly Dimension[], after: readonly string[]): RawBuilder<unknown> =>
  sql.join(by.map((name, n) => (name === 'day' ? sql`${after[n]}::date` : sql`${after[n]}::text`)));

export const readBreakdown = async (db: Db, query: BreakdownQuery): Promise<readonly BreakdownRow[]> =>
  (await breakdownQuery(query).execute(db)).rows;

type Measure = (row: BreakdownRow) => string | number | null;

const COUNTS = {
  requests: (row) => Number(row.requests),
  input_tokens: (row) => Number(row.input_tokens),
  cached_input_tokens: (row) => Number(row.cached_input_tokens),
  cache_write_tokens: (row) => Number(row.cache_write_tokens),
  output_tokens: (row) => Number(row.output_tokens),
  reasoning_tokens: (row) => Number(row.reasoning_tokens),
  audio_tokens: (row) => Number(row.audio_tokens),
  image_tokens: (row) => Number(row.image_tokens),
  searches: (row) => Number(row.searches),
  images: (row) => Number(row.images),
  estimated_requests: (row) => Number(row.estimated),
} as const satisfies Record<string, Measure>;

/** The measures that operators and users see, in this order. Users never see what providers cost. */
const MEASURES = {
  operator: {
    ...COUNTS,
    revenue: (row) => formatNanos(row.nanos),
    /** Charged by providers; null when the cost of any request is unknown. */
    cost: (row) => (row.cost_unknown > 0n ? null : formatNanos(row.cost_nanos)),
    margin: (row) => (row.cost_unknown > 0n ? null : formatNanos(row.nanos - row.cost_nanos)),
    known_cost: (row) => formatNanos(row.cost_nanos),
    unknown_cost_requests: (row) => Number(row.cost_unknown),
    failed_cost: (row) => formatNanos(row.failed_cost_nanos),
  },
  user: { ...COUNTS, charge: (row) => formatNanos(row.nanos) },
} as const satisfies {
  readonly operator: Record<keyof OperatorMeasures, Measure>;
  readonly user: Record<keyof UserMeasures, Measure>;
};
export type UsageAudience = keyof typeof MEASURES;

const READERS: Readonly<Record<UsageAudience, readonly Measure[]>> = {
  operator: Object.values(MEASURES.operator),
  user: Object.values(MEASURES.user),
};

export const usageColumns = (by: readonly Dimension[], audience: UsageAudience): string[] => [
  ...by,
  ...Object.keys(MEASURES[audience]),
];

/** In the order of `usageColumns`. */
export const usageCells = (row: BreakdownRow, by: readonly Dimension[], audience: UsageAudience) => [
  ...by.map((name) => row[name] ?? null),
  ...READERS[audience].map((read) => read(row)),
];

export function usageLine(row: BreakdownRow, by: readonly Dimension[], audience: UsageAudience) {
  const cells = usageCells(row, by, audience);
  return Object.fromEntries(usageColumns(by, audience).map((name, n) => [name, cells[n] ?? null]));
}
