/** Balances of all users, or of one. */
import { z } from 'zod';
import { walletReports } from '../../ledger/index.ts';
import { snapshot } from '../../platform/db/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { notFound, operation } from './handler.ts';
import { sendPage, sortedKey, sortedPage, sortedParams } from './pagination.ts';
import { money, param } from './query-params.ts';

const BalancesQuery = z.strictObject({
  user: param.user.describe('of this user; `*` stands for any text'),
  below: money('with less than this amount available'),
  used: z.coerce
    .number()
    .min(0)
    .max(1000)
    .describe('of users who have used this share of a spend limit, such as 0.8')
    .optional(),
  ...sortedParams('balances'),
});

export const listBalances = operation({
  query: BalancesQuery,
  async handle({ call, query: { user, below, used, ...query } }, { db, clock }) {
    const page = sortedPage('balances', query);
    const found = await snapshot(db, (tx) => walletReports(tx, { user, below, used, ...page, now: clock.now() }));
    sendPage(call, found, {
      limit: query.limit,
      more: { currency: 'USD' },
      view: ({ report }) => report,
      key: (row) => sortedKey(row, row.report.user, page.order),
    });
  },
});

export const getBalance = operation({
  async handle({ call }, { db, clock }) {
    const user = call.params.user ?? '';
    const [found] = await snapshot(db, (tx) => walletReports(tx, { user, limit: 1, now: clock.now() }));
    if (!found) throw notFound('user', user);
    sendJson(call, 200, { object: 'balance', currency: 'USD', ...found.report });
  },
});
