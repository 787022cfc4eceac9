/** What users have: all of them, or one. */
import { snapshot } from '../db/index.ts';
import { walletReports } from '../ledger/index.ts';
import { sendJson } from '../web/index.ts';
import { type AdminHandler, notFound } from './handler.ts';
import { sendPage } from './pagination.ts';

export const listBalances: AdminHandler = async ({ call, query }, { db }) => {
  const { limit } = query;
  const [after] = query.cursor(1) ?? [];
  const wish = { user: query.text('user'), below: query.money('below'), after, limit: limit + 1 };
  const reports = await snapshot(db, (tx) => walletReports(tx, wish));
  sendPage(call, reports, limit, {
    more: { currency: 'USD' },
    view: (report) => report,
    key: ({ user }) => [user],
  });
};

export const getBalance: AdminHandler = async ({ call }, { db }) => {
  const user = call.params.user ?? '';
  const [report] = await snapshot(db, (tx) => walletReports(tx, { user, limit: 1 }));
  if (!report) throw notFound('user', user);
  sendJson(call, 200, { object: 'balance', currency: 'USD', ...report });
};
