/** Usage, revenue, cost and margin by any combination of dimensions. Reads roll-ups only. */
import { z } from 'zod';
import { snapshot, streamRows } from '../db/index.ts';
import {
  type BreakdownQuery,
  type BreakdownRow,
  breakdownQuery,
  DIMENSIONS,
  type Dimension,
  periodOf,
  readBreakdown,
  usageCells,
  usageColumns,
  usageLine,
} from '../ledger/index.ts';
import { sendCsv } from './csv.ts';
import { operation } from './handler.ts';
import { CURSOR_EXPECTED, pageParams, rowKey, sendPage } from './pagination.ts';
import { listOf, param } from './query-params.ts';

const MAX_DAYS = 366;

const UsageParams = z
  .strictObject({
    by: listOf(DIMENSIONS)
      .default(['day'])
      .describe(`comma-separated, in the order to sort by: ${DIMENSIONS.join(', ')}; \`day\` by default`),
    start_date: param.start_date,
    end_date: param.end_date,
    user: param.user,
    key: param.key,
    model: param.model,
    group: param.group,
    account: param.account,
    operation: param.operation,
    ...pageParams(rowKey.texts),
    format: param.format,
  })
  .refine(({ by, cursor }) => cursor === undefined || isRowKey(by, cursor), {
    path: ['cursor'],
    error: CURSOR_EXPECTED,
  });

const isRowKey = (by: readonly Dimension[], cursor: readonly string[]): boolean =>
  cursor.length === by.length && by.every((name, n) => name !== 'day' || z.iso.date().safeParse(cursor[n]).success);

export const getUsageBreakdown = operation({
  query: UsageParams,
  async handle({ call, query }, { db, clock }) {
    const { by, start_date, end_date, limit, cursor: after, format, ...filters } = query;
    const { start, end } = periodOf({ start_date, end_date }, clock.now(), MAX_DAYS);
    const breakdown: BreakdownQuery = { start, end, by, only: withoutAbsent(filters) };
    await snapshot(db, async (tx) => {
      if (format === 'csv') {
        const batches = streamRows(tx, breakdownQuery(breakdown));
        const cells = (row: BreakdownRow) => usageCells(row, by);
        return sendCsv(call, { name: `usage-${start}-${end}`, columns: usageColumns(by), batches, cells }, clock);
      }
      const rows = await readBreakdown(tx, { ...breakdown, after, limit: limit + 1 });
      const [total] = await readBreakdown(tx, { ...breakdown, by: [] });
      sendPage(call, rows, {
        limit,
        more: { currency: 'USD', period: { start, end, timezone: 'UTC' }, by, total: total && usageLine(total, []) },
        view: (row) => usageLine(row, by),
        key: (row) => by.map((name) => row[name] ?? ''),
      });
    });
  },
});

const withoutAbsent = (filters: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
