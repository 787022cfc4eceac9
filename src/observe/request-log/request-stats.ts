/**
 * Series for charts from the hourly roll-ups: requests, errors, tokens, money and percentiles of times. Never reads
 * single calls.
 */
import { type RawBuilder, sql } from 'kysely';
import { formatNanos } from '../../core/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import * as schemas from '../../schemas/index.ts';
import { percentileMs, unpackHistogram } from './histogram.ts';
import { SUMS, TIMES } from './hour-sums.ts';

export interface StatsQuery {
  readonly start: Date;
  readonly end: Date;
  readonly bucket: schemas.StatsBucket;
  readonly by?: schemas.StatsGrouping | undefined;
  readonly group?: string | undefined;
  readonly account?: string | undefined;
  readonly model?: string | undefined;
}

const MAX_SERIES = 20;
/** A chart shows four series. */
const MIN_SERIES = 4;
/** Of a response, over all series: many times leave room for fewer names. */
const MAX_POINTS = 3_000;
const SHARES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;

/** The points in order of time, and the sum of all of them. */
export async function readRequestStats(tx: Tx, query: StatsQuery) {
  const points = await readPoints(tx, { ...query, maxNames: seriesOf(query) });
  const [total] = await readTotals(tx, { ...query, by: undefined });
  return { points, total: total ?? statsOfNothing() };
}

const BUCKET_MS = { hour: 3_600_000, day: 86_400_000 } as const;

function seriesOf({ start, end, bucket }: StatsQuery): number {
  const times = Math.ceil((end.getTime() - start.getTime()) / BUCKET_MS[bucket]);
  return Math.max(MIN_SERIES, Math.min(MAX_SERIES, Math.floor(MAX_POINTS / times) - 1));
}

export const statsOfNothing = (): schemas.StatsPoint => pointOf(NO_COUNTS);

export const readTotals = (
  tx: Tx,
  query: Omit<StatsQuery, 'bucket'>,
  maxNames = MAX_SERIES,
): Promise<schemas.StatsPoint[]> => readPoints(tx, { ...query, bucket: undefined, maxNames });

/** Histograms are packed. */
interface Counts
  extends Readonly<Record<(typeof SUMS)[number], bigint>>,
    Readonly<Record<(typeof TIMES)[number], string>> {
  readonly time: Date;
  readonly name: string | null;
}

const NO_COUNTS: Counts = {
  time: new Date(0),
  name: null,
  ...(Object.fromEntries(SUMS.map((name) => [name, 0n])) as Record<(typeof SUMS)[number], bigint>),
  ...(Object.fromEntries(TIMES.map((name) => [name, '0'])) as Record<(typeof TIMES)[number], string>),
};

interface PointsQuery extends Omit<StatsQuery, 'bucket'> {
  /** Without it, a point is about the whole period. */
  readonly bucket: schemas.StatsBucket | undefined;
  readonly maxNames?: number;
}

async function readPoints(tx: Tx, query: PointsQuery): Promise<schemas.StatsPoint[]> {
  const sums = sql.join([
    ...SUMS.map((name) => sql`sum(${sql.ref(name)})::bigint as ${sql.ref(name)}`),
    ...TIMES.map((name) => sql`sum(${sql.ref(name)})::text as ${sql.ref(name)}`),
  ]);
  const { rows } = await sql<Counts>`
    with slice as (${sliceOf(query)}) select time, name, ${sums} from slice group by time, name
    order by time, name`.execute(tx);
  return rows.map(pointOf);
}

const COLUMNS = { group: 'group_id', account: 'account_id', model: 'model' } as const;

/** The roll-ups of the query with their time and name. */
function sliceOf({ start, end, bucket, by, maxNames = MAX_SERIES, ...filters }: PointsQuery): RawBuilder<unknown> {
  const conditions = Object.entries(COLUMNS).flatMap(([name, column]) => {
    const value = filters[name as schemas.StatsGrouping];
    return value === undefined ? [] : [sql`and ${sql.ref(column)} = ${value}`];
  });
  const where = sql`level = ${levelOf(filters, by)} and hour >= ${start} and hour < ${end} ${sql.join(conditions, sql` `)}`;
  const time = bucket ? sql`date_trunc(${sql.lit(bucket)}, hour, 'UTC')` : sql`${start}::timestamptz`;
  if (by === undefined)
    return sql`select ${time} as time, null::text as name, request_hours.* from request_hours where ${where}`;
  const column = sql.ref(COLUMNS[by]);
  return sql`
    select ${time} as time, case when ${column} in (
        select ${column} from request_hours where ${where} group by 1 order by sum(requests) desc, 1 limit ${maxNames})
      then ${column} else 'other' end as name, request_hours.* from request_hours where ${where}`;
}

/** The level with the fewest rows that has the names of the query. */
function levelOf(
  filters: Partial<Record<schemas.StatsGrouping, string | undefined>>,
  by: schemas.StatsGrouping | undefined,
): string {
  const names = schemas.STATS_GROUPINGS.filter((name) => name === by || filters[name] !== undefined);
  return names.length > 1 ? 'all' : (names[0] ?? 'total');
}

function pointOf(counts: Counts): schemas.StatsPoint {
  const percentiles = (name: (typeof TIMES)[number]): schemas.Percentiles => {
    const histogram = unpackHistogram(counts[name]);
    return Object.fromEntries(
      Object.entries(SHARES).map(([label, share]) => [label, percentileMs(histogram, share)]),
    ) as schemas.Percentiles;
  };
  const count = (name: (typeof SUMS)[number]): number => Number(counts[name]);
  return {
    time: counts.time.toISOString(),
    name: counts.name,
    requests: count('requests'),
    errors: { provider: count('provider_errors'), ours: count('own_errors'), caller: count('caller_errors') },
    client_closed: count('client_closed'),
    tokens: {
      input: count('input_tokens'),
      cached_input: count('cached_input_tokens'),
      output: count('output_tokens'),
    },
    charge: formatNanos(counts.nanos),
    cost: formatNanos(counts.cost_nanos),
    cost_unknown: count('cost_unknown'),
    first_byte_ms: percentiles('first_byte'),
    total_ms: percentiles('total'),
    added_ms: percentiles('added'),
    failover_ms: percentiles('failover'),
  };
}
