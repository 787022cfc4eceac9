/** What needs an operator, as the worker saw it last; a look that is long ago is itself worth a question. */
import { ALARMS, readAlarms } from '../ledger/index.ts';
import { sendJson } from '../web/index.ts';
import type { AdminHandler } from './handler.ts';

export const listAlarms: AdminHandler = async ({ call }, { db }) => {
  const states = await readAlarms(db);
  sendJson(call, 200, {
    object: 'list',
    data: states.map(({ name, count, detail, ageSeconds }) => ({
      name,
      count,
      detail,
      ...ALARMS[name],
      looked_seconds_ago: Math.round(ageSeconds),
    })),
    has_more: false,
    next_cursor: null,
  });
};
