/** Balances of all users, or of one. */
import { z } from 'zod';
import { walletReports } from '../../ledger/index.ts';
import { snapshot } from '../../platform/db/index.ts';
import { notFound, operation } from './handler.ts';
import { sendPage, sortedKey, sortedPage, sortedParams } from './pagination.ts';
import { money, param } from './query-params.ts';

const BalancesQuery = z.strictObject({
  user: param.user.describe('of this user; `*` stands for any text, also of the e-mail address'),
  below: money('with less than this amount available'),
  used: z.coerce
    .number()
    .min(0)
    .max(1000)
    .describe('of users who have used this share of a spend limit, such as 0.8')
    .optional(),
  ...sortedParams('balances'),
});

export const BALANCES_OPERATIONS = {
  'admin.balances': operation({
    query: BalancesQuery,
    async handle({ call, query: { user, below, used, ...query } }, { db, clock }) {
      const page = sortedPage('balances', query);
      const { rows, count } = await snapshot(db, (tx) =>
        walletReports(tx, { user, below, used, ...page, now: clock.now() }),
      );
      sendPage(call, rows, {
        limit: query.limit,
        more: { currency: 'USD', count },
        view: ({ report }) => report,
        key: (row) => sortedKey(row, row.report.user, page.order),
      });
    },
  }),
  'admin.balance': operation({
    async handle({ id: user }, { db, clock }) {
      const { rows } = await snapshot(db, (tx) => walletReports(tx, { user, limit: 1, now: clock.now() }));
      const [found] = rows;
      if (!found) throw notFound('user', user);
      return { object: 'balance', currency: 'USD', ...found.report };
    },
  }),
};
