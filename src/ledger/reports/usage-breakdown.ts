/** Usage, revenue, cost and margin for operators, by any combination of dimensions. Reads roll-ups only. */
import { type RawBuilder, sql } from 'kysely';
import { formatNanos } from '../../core/index.ts';
import type { Db } from '../../db/index.ts';
import { DAILY_SUMS } from '../usage-record.ts';

/** Dimension -> column of the roll-ups. */
const COLUMNS = {
  user: sql`user_id`,
  key: sql`key_id`,
  model: sql`model`,
  group: sql`group_id`,
  account: sql`account_id`,
  operation: sql`operation`,
  // As text, because cursors hold and compare text.
  day: sql`day::text`,
} as const;
export type Dimension = keyof typeof COLUMNS;
export const DIMENSIONS = Object.keys(COLUMNS) as Dimension[];

export interface BreakdownQuery {
  /** UTC days, both included. */
  readonly start: string;
  readonly end: string;
  readonly by: readonly Dimension[];
  readonly only: Partial<Record<Dimension, string>>;
  /** The values of `by` in the last row of the previous page. */
  readonly after?: readonly string[] | undefined;
  readonly limit?: number | undefined;
}

export type BreakdownRow = Readonly<Record<(typeof DAILY_SUMS)[number], bigint>> &
  Readonly<Partial<Record<Dimension, string>>>;

/** Rows ordered by their dimensions, so that a cursor stays valid while rows are added. */
export function breakdownQuery({ start, end, by, only, after, limit }: BreakdownQuery): RawBuilder<BreakdownRow> {
  const columns = by.map((name) => COLUMNS[name]);
  const filters = Object.entries(only).map(([name, value]) => sql`and ${COLUMNS[name as Dimension]} = ${value}`);
  const later = after
    ? sql`and (${sql.join(columns)}) > (${sql.join(after.map((value) => sql`${value}::text`))})`
    : sql``;
  const list = sql.join([
    ...by.map((name) => sql`${COLUMNS[name]} as ${sql.ref(name)}`),
    ...DAILY_SUMS.map((name) => sql`coalesce(sum(${sql.ref(name)}), 0)::bigint as ${sql.ref(name)}`),
  ]);
  return sql<BreakdownRow>`
    select ${list} from usage_daily
    where day between ${start}::date and ${end}::date ${sql.join(filters, sql` `)} ${later}
    ${columns.length > 0 ? sql`group by ${sql.join(columns)} order by ${sql.join(columns)}` : sql``}
    ${limit === undefined ? sql`` : sql`limit ${limit}`}`;
}

export const readBreakdown = async (db: Db, query: BreakdownQuery): Promise<readonly BreakdownRow[]> =>
  (await breakdownQuery(query).execute(db)).rows;

/** The reported measures, in this order. */
const MEASURES = {
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
  /** Charged to users. */
  revenue: (row) => formatNanos(row.nanos),
  /** Charged by providers; null when the cost of any request is unknown. */
  cost: (row) => (row.cost_unknown > 0n ? null : formatNanos(row.cost_nanos)),
  margin: (row) => (row.cost_unknown > 0n ? null : formatNanos(row.nanos - row.cost_nanos)),
  known_cost: (row) => formatNanos(row.cost_nanos),
  unknown_cost_requests: (row) => Number(row.cost_unknown),
} as const satisfies Record<string, (row: BreakdownRow) => string | number | null>;

export const usageColumns = (by: readonly Dimension[]): string[] => [...by, ...Object.keys(MEASURES)];

/** Members are in the order of `usageColumns`. */
export const usageLine = (row: BreakdownRow, by: readonly Dimension[]): Record<string, string | number | null> =>
  Object.fromEntries([
    ...by.map((name) => [name, row[name] ?? null]),
    ...Object.entries(MEASURES).map(([name, read]) => [name, read(row)]),
  ]);
