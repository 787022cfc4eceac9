/** Balances of all users, or of one. */
import { z } from 'zod';
import { snapshot } from '../db/index.ts';
import { walletReports } from '../ledger/index.ts';
import { sendJson } from '../web/index.ts';
import { notFound, operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { money, param } from './query-params.ts';

const BalancesQuery = z.strictObject({
  user: param.user,
  below: money('with less than this amount available'),
  ...pageParams(rowKey.text),
});

export const listBalances = operation({
  query: BalancesQuery,
  async handle({ call, query: { user, below, limit, cursor } }, { db }) {
    const page = { user, below, after: cursor?.[0], limit: limit + 1 };
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
  async handle({ call }, { db }) {
    const user = call.params.user ?? '';
    const [report] = await snapshot(db, (tx) => walletReports(tx, { user, limit: 1 }));
    if (!report) throw notFound('user', user);
    sendJson(call, 200, { object: 'balance', currency: 'USD', ...report });
  },
});
