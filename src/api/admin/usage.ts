/** Usage, revenue, cost and margin by any combination of dimensions. Reads roll-ups only. */
import { z } from 'zod';
import * as ledger from '../../ledger/index.ts';
import { snapshot, streamRows } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { DIMENSIONS, type Dimension } from '../../schemas/index.ts';
import { sendCsv } from './download.ts';
import { type AdminServices, operation } from './handler.ts';
import { CURSOR_EXPECTED, pageParams, rowKey, sendPage } from './pagination.ts';
import { listOf, param, params } from './query-params.ts';

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
    ...params('start_date end_date user key model group account operation'),
    ...usagePage('operator'),
  })
  .refine(isRowKey, { path: ['cursor'], error: CURSOR_EXPECTED });

interface UsageRequest extends Readonly<Partial<Record<Exclude<Dimension, 'day'>, string | undefined>>> {
  readonly by: readonly Dimension[];
  readonly start_date?: string | undefined;
  readonly end_date?: string | undefined;
  readonly sort?: string | undefined;
  readonly limit: number;
  readonly cursor?: readonly string[] | undefined;
  readonly format: 'json' | 'csv';
}

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
  const breakdown: ledger.BreakdownQuery = { start, end, by, only: withoutAbsent(filters), order };
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

const withoutAbsent = (filters: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));

export const USAGE_OPERATIONS = {
  'admin.usage': operation({
    query: UsageParams,
    handle: ({ call, query }, services) => sendUsage(call, query, { ...services, audience: 'operator' }),
  }),
};
