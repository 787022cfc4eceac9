/** What was used, earned and spent, by any combination of dimensions; from roll-ups only. */
import { snapshot, streamRows } from '../db/index.ts';
import {
  type BreakdownQuery,
  type BreakdownRow,
  breakdownQuery,
  DIMENSIONS,
  type Dimension,
  periodOf,
  readBreakdown,
  usageColumns,
  usageLine,
} from '../ledger/index.ts';
import { sendCsv } from './csv.ts';
import type { AdminHandler } from './handler.ts';
import { sendPage } from './pagination.ts';

const MAX_DAYS = 366;
const FILTERS = DIMENSIONS.filter((name): name is Exclude<Dimension, 'day'> => name !== 'day');

export const getUsageBreakdown: AdminHandler = async ({ call, query }, { db, clock }) => {
  const dates = { start_date: query.text('start_date'), end_date: query.text('end_date') };
  const { start, end } = periodOf(dates, clock.now(), MAX_DAYS);
  const by = query.someOf('by', DIMENSIONS) ?? ['day'];
  const only = Object.fromEntries(FILTERS.flatMap((name) => [[name, query.text(name)]].filter(([, value]) => value)));
  const wish: BreakdownQuery = { start, end, by, only };
  const after = query.cursor(by.length);
  const { limit } = query;
  const isCsv = query.oneOf('format', ['json', 'csv']) === 'csv';
  await snapshot(db, async (tx) => {
    if (isCsv) {
      const pieces = cells(streamRows(tx, breakdownQuery(wish)), by);
      return sendCsv(call, { name: `usage-${start}-${end}`, columns: usageColumns(by), pieces }, clock);
    }
    const rows = await readBreakdown(tx, { ...wish, after, limit: limit + 1 });
    const [total] = await readBreakdown(tx, { ...wish, by: [] });
    sendPage(call, rows, limit, {
      more: { currency: 'USD', period: { start, end, timezone: 'UTC' }, by, total: total && usageLine(total, []) },
      view: (row) => usageLine(row, by),
      key: (row) => by.map((name) => row[name] ?? ''),
    });
  });
};

async function* cells(pieces: AsyncIterable<readonly BreakdownRow[]>, by: readonly Dimension[]) {
  for await (const rows of pieces) yield rows.map((row) => Object.values(usageLine(row, by)));
}
