/** Series for charts and the state of accounts, from the hourly roll-ups of the request log. */
import { z } from 'zod';
import { failAt } from '../../core/index.ts';
import { readAccountStats, readRequestStats } from '../../observe/request-log/index.ts';
import { snapshot } from '../../platform/db/index.ts';
import { STATS_BUCKETS, STATS_GROUPINGS } from '../../schemas/index.ts';
import { operation } from './handler.ts';
import { wholeList } from './pagination.ts';
import { param, params, period } from './query-params.ts';

const HOUR_MS = 3_600_000;
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
  ...params('group account model'),
});

const AccountStatsParams = z.strictObject({ ...range, group: param.group, account: param.account });

const head = (start: Date, end: Date) => ({
  currency: 'USD',
  period: { start: start.toISOString(), end: end.toISOString(), timezone: 'UTC' },
});

/** Whole hours, the current one included. */
function periodIn(
  { range: name, start, end }: { range: keyof typeof RANGES; start?: Date | undefined; end?: Date | undefined },
  now: number,
): { start: Date; end: Date } {
  const until = end ?? new Date((Math.floor(now / HOUR_MS) + 1) * HOUR_MS);
  const since = start ?? new Date(until.getTime() - RANGES[name] * HOUR_MS);
  if (since >= until) throw failAt('invalid_value', 'start', 'it must be before end.');
  return { start: since, end: until };
}

export const STATS_OPERATIONS = {
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
