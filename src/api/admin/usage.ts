/** Usage, revenue, cost and margin by any combination of dimensions, and the charts of calls. Reads roll-ups only. */
import { z } from 'zod';
import { defined, failAt, HOUR_MS } from '../../core/index.ts';
import * as ledger from '../../ledger/index.ts';
import { readAccountStats, readRequestStats } from '../../observe/request-log/index.ts';
import { snapshot, streamRows } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { DIMENSIONS, type Dimension, STATS_BUCKETS, STATS_GROUPINGS } from '../../schemas/index.ts';
import { sendCsv } from './download.ts';
import { type AdminServices, operation } from './handler.ts';
import { CURSOR_EXPECTED, pageParams, rowKey, sendPage, wholeList } from './pagination.ts';
import { listOf, param, params, period } from './query-params.ts';

const MAX_DAYS = 366;

/** The parameters of a page of a report. Users do not see costs, and cannot sort by them. */
export function usagePage(audience: ledger.UsageAudience) {
  const names = (Object.keys(ledger.SORTED_MEASURES) as ledger.SortedMeasure[]).filter((name) =>
    ledger.usageColumns([], audience).includes(name),
  );
  return {
    sort: z
      .enum(names.flatMap((name) => [name, `${name}.asc` as const]))
      .describe(
        'the largest first by this sum, or the smallest with `.asc`; the reply then has `count`, the number of lines',
      )
      .optional(),
    ...pageParams(rowKey.texts),
    format: param.format,
  };
}

interface UsageCursor {
  readonly by: readonly Dimension[];
  readonly sort?: string | undefined;
  readonly cursor?: readonly string[] | undefined;
}

/** A cursor has the value of the order, if there is one, and those of the dimensions. */
export function isRowKey({ by, sort, cursor }: UsageCursor): boolean {
  if (cursor === undefined) return true;
  const values = sort === undefined ? cursor : cursor.slice(1);
  return (
    values.length === by.length &&
    (sort === undefined || /^-?\d{1,19}$/.test(cursor[0] ?? '')) &&
    by.every((name, n) => name !== 'day' || z.iso.date().safeParse(values[n]).success)
  );
}

const UsageParams = z
  .strictObject({
    by: listOf(DIMENSIONS)
      .default(['day'])
      .describe(`comma-separated, in the order to sort by: ${DIMENSIONS.join(', ')}; \`day\` by default`),
    ...params('start_date', 'end_date', 'user', 'key', 'model', 'group', 'account', 'operation'),
    ...usagePage('operator'),
  })
  .refine(isRowKey, { path: ['cursor'], error: CURSOR_EXPECTED });

type UsageRequest = z.output<typeof UsageParams>;

/** Users see what they are charged; operators also what providers cost. */
export async function sendUsage(
  call: Call,
  { by, start_date, end_date, sort, limit, cursor: after, format, ...filters }: UsageRequest,
  { db, clock, audience }: Pick<AdminServices, 'db' | 'clock'> & { readonly audience: ledger.UsageAudience },
): Promise<void> {
  const { start, end } = ledger.periodOf({ start_date, end_date }, clock.now(), MAX_DAYS);
  const [measure, direction] = (sort ?? '').split('.');
  const order =
    sort === undefined ? undefined : { by: measure as ledger.SortedMeasure, isAscending: direction === 'asc' };
  const breakdown: ledger.BreakdownQuery = {
    start,
    end,
    by,
    only: defined(filters),
    isOfCalls: audience === 'user',
    order,
  };
  await snapshot(db, async (tx) => {
    if (format === 'csv') {
      const batches = streamRows(tx, ledger.breakdownQuery(breakdown));
      const cells = (row: ledger.BreakdownRow) => ledger.usageCells(row, by, audience);
      const columns = ledger.usageColumns(by, audience);
      return sendCsv(call, { name: `usage-${start}-${end}`, columns, batches, audience, cells }, clock);
    }
    const rows = await ledger.readBreakdown(tx, { ...breakdown, after, limit: limit + 1 });
    const [sum] = await ledger.readBreakdown(tx, { ...breakdown, by: [] });
    const total = sum && ledger.usageLine(sum, [], audience);
    sendPage(call, rows, {
      limit,
      more: {
        currency: 'USD',
        period: { start, end, timezone: 'UTC' },
        by,
        total,
        ...(order && { count: Number(rows[0]?.lines ?? 0) }),
      },
      view: (row) => ledger.usageLine(row, by, audience),
      key: (row) => [...(row.sorted_by === undefined ? [] : [row.sorted_by]), ...by.map((name) => row[name] ?? '')],
    });
  });
}

/** Series for charts and the state of accounts, from the hourly roll-ups of the request log. */
const RANGES = { '24h': 24, '7d': 168, '30d': 720 } as const;
const RANGE_NAMES = Object.keys(RANGES) as (keyof typeof RANGES)[];
/** A chart has no room for more points. */
const MAX_POINTS = 1_000;
const BUCKET_MS = { hour: HOUR_MS, day: 24 * HOUR_MS } as const;

const range = {
  range: z.enum(RANGE_NAMES).default('24h').describe('`24h` (default), `7d` or `30d` up to now; ignored with `start`'),
  ...period,
};

const StatsParams = z.strictObject({
  ...range,
  bucket: z
    .enum(STATS_BUCKETS)
    .describe('`hour` or `day` in UTC; by default `hour`, and `day` above 7 days')
    .optional(),
  by: z.enum(STATS_GROUPINGS).describe('one series for each `group`, `account` or `model`').optional(),
  ...params('group', 'account', 'model'),
});

const AccountStatsParams = z.strictObject({ ...range, group: param.group, account: param.account });

const head = (start: Date, end: Date) => ({
  currency: 'USD',
  period: { start: start.toISOString(), end: end.toISOString(), timezone: 'UTC' },
});

/** Whole hours, the current one included. */
function periodIn({ range: name, start, end }: z.output<typeof AccountStatsParams>, now: number) {
  const until = end ?? new Date((Math.floor(now / HOUR_MS) + 1) * HOUR_MS);
  const since = start ?? new Date(until.getTime() - RANGES[name] * HOUR_MS);
  if (since >= until) throw failAt('invalid_value', 'start', 'it must be before end.');
  return { start: since, end: until };
}

export const USAGE_OPERATIONS = {
  'admin.usage': operation({
    query: UsageParams,
    handle: ({ call, query }, services) => sendUsage(call, query, { ...services, audience: 'operator' }),
  }),
  'admin.stats': operation({
    query: StatsParams,
    async handle({ query }, { db, clock }) {
      const { by, group, account, model } = query;
      const { start, end } = periodIn(query, clock.now());
      const spanMs = end.getTime() - start.getTime();
      const bucket = query.bucket ?? (spanMs > RANGES['7d'] * HOUR_MS ? 'day' : 'hour');
      if (spanMs / BUCKET_MS[bucket] > MAX_POINTS)
        throw failAt(
          'invalid_value',
          'start',
          `the period has more than ${MAX_POINTS} points; name a shorter one, or bucket=day.`,
        );
      const { points, total } = await snapshot(db, (tx) =>
        readRequestStats(tx, { start, end, bucket, by, group, account, model }),
      );
      const { time: _, name: __, ...sums } = total;
      return { object: 'stats', ...head(start, end), bucket, by: by ?? null, total: sums, data: points };
    },
  }),
  'admin.accountStats': operation({
    query: AccountStatsParams,
    async handle({ query }, { db, clock }) {
      const { start, end } = periodIn(query, clock.now());
      const { group, account } = query;
      const accounts = await snapshot(db, (tx) => readAccountStats(tx, { start, end, group, account }));
      return wholeList(accounts, head(start, end));
    },
  }),
};
