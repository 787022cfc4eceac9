/** Balances of all users, or of one. */
import { z } from 'zod';
import { snapshot } from '../db/index.ts';
import { walletReports } from '../ledger/index.ts';
import { sendJson } from '../web/index.ts';
import { notFound, operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
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
  ...pageParams(rowKey.text),
});

export const listBalances = operation({
  query: BalancesQuery,
  async handle({ call, query: { user, below, used, limit, cursor } }, { db, clock }) {
    const page = { user, below, used, after: cursor?.[0], limit: limit + 1, now: clock.now() };
    const reports = await snapshot(db, (tx) => walletReports(tx, page));
    sendPage(call, reports, {
      limit,
      more: { currency: 'USD' },
      view: (report) => report,
      key: (report) => [report.user],
    });
  },
});

export const getBalance = operation({
  async handle({ call }, { db, clock }) {
    const user = call.params.user ?? '';
    const [report] = await snapshot(db, (tx) => walletReports(tx, { user, limit: 1, now: clock.now() }));
    if (!report) throw notFound('user', user);
    sendJson(call, 200, { object: 'balance', currency: 'USD', ...report });
  },
});
